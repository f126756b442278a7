/**
 * Tests run from TypeScript, several files side by side: they wait more than they work. `spec` is given only where no file or folder
 * is named on the command line: mocha adds the two, so that `npm test -- test/x.test.ts` would run everything. What is named runs in
 * this process, so that `.only` and a debugger work.
 */
const named = process.argv.slice(2).some((argument) => /^(\.\/)?test\/(.*\.test\.ts|[^.]*)$/.test(argument));

/** The folders with the longest files first, so that none of them is the last to run. */
const all = ['test/{browser,database,package,service}/**/*.test.ts', 'test/!(browser|database|package|service)/**/*.test.ts', 'test/*.test.ts']; // prettier-ignore

/**
 * V8 optimizes a function after ten times the usual work: it spent a tenth of the run's CPU on functions that soon had no more calls. Goes
 * with Node 20: later versions end with "bad option".
 */
const optimizesLate = process.version.startsWith('v20.') ? ['interrupt-budget=1320000'] : [];

module.exports = {
  extension: ['ts'],
  spec: named ? [] : all,
  recursive: true,
  // Without `require` of ES modules mocha imports test files. Those that it requires would be loaded a second time where something
  // imports them lazily, both under one source map.
  'node-option': ['import=tsx', 'enable-source-maps', 'no-experimental-require-module', ...optimizesLate],
  require: ['test/support/run.ts'],
  reporter: 'test/support/summary-reporter.cjs',
  parallel: !named,
  // A file that is run by itself ends, whatever it left open; in parallel, mocha ends its workers the same way.
  exit: named,
  jobs: 4,
  // Only in CI; the report names the tests that needed it at the end.
  retries: process.env.CI === 'true' ? 1 : 0,
  // Only there to end a hang: how long a test takes is no question of right or wrong.
  timeout: 240_000,
};
