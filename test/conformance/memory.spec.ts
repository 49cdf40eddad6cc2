import { describeProvider } from '../../lib/testing/conformance/index.js';
import { memoryHarness } from './memory-harness.js';

describeProvider(memoryHarness());
