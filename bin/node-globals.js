/**
 * Injected into the bundles in place of the globals. Tests of an application replace its clock (sinon, Jest, Vitest, node:test), and would
 * run our timers as theirs (`runAll` in a loop without end), or stop them. Jest's jsdom has not all of the others.
 */
export const { Date } = globalThis;
export const { performance } = process.getBuiltinModule('node:perf_hooks');
export const { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } =
  process.getBuiltinModule('node:timers');
export const { TextDecoder } = process.getBuiltinModule('node:util');
