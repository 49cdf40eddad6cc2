export { VirtualClock } from './virtual-clock.js';
export * from './conformance/index.js';
