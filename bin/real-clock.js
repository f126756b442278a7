/**
 * Injected into the bundles in place of the globals: tests of an application replace those (sinon, Jest, Vitest, node:test), and would
 * run our timers as theirs (`runAll` in a loop without end), or stop them.
 */
export const { Date } = globalThis;
export const { performance } = process.getBuiltinModule('node:perf_hooks');
export const { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } =
  process.getBuiltinModule('node:timers');
