/** Of `node:timers/promises`, for the reason in real-clock.js. */
export const { setImmediate, setTimeout } = process.getBuiltinModule('node:timers/promises');
