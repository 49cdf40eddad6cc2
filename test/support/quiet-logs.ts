import { Logger } from '@nestjs/common';

/** Tests bring about what an operator must be told of; only their own results are to be read here. */
Logger.overrideLogger(false);
