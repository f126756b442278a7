/** Of `node:timers/promises`, for the reason in node-globals.js. */
export const { setImmediate, setTimeout } = process.getBuiltinModule('node:timers/promises');
