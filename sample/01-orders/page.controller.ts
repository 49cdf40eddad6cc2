import { Controller, Get, Header } from '@nestjs/common';
import { PAGE } from './page.js';

@Controller()
export class PageController {
  @Get()
  @Header('content-type', 'text/html; charset=utf-8')
  page(): string {
    return PAGE;
  }
}
