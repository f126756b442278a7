/**
 * `npm run test:slow`: what needs a browser, servers, or processes of its own, and the options that both parts of the tests have in common.
 * Tests run from TypeScript, several files side by side: they wait more than they work.
 */

/**
 * V8 optimizes a function after ten times the usual work: it spent a tenth of the run's CPU on functions that soon had no more calls. Goes
 * with Node 20: later versions end with "bad option".
 */
const optimizesLate = process.version.startsWith('v20.') ? ['interrupt-budget=1320000'] : [];

module.exports = {
  extension: ['ts'],
  // In this order: a long file that began last would run alone.
  spec: ['database', 'service', 'package', 'browser'].map((folder) => `test/${folder}/**/*.test.ts`),
  // They test what `npm run libraries` and `npm run examples` install.
  ignore: ['test/libraries/**'],
  recursive: true,
  // Without `require` of ES modules mocha imports test files. Those that it requires would be loaded a second time where something
  // imports them lazily, both under one source map.
  // Tests make much that lives briefly: with room for more of it the garbage collector runs less often.
  'node-option': [
    'import=tsx', 'enable-source-maps', 'no-experimental-require-module', 'max-semi-space-size=64', ...optimizesLate,
  ], // prettier-ignore
  require: ['test/support/run.ts'],
  reporter: 'test/support/summary-reporter.cjs',
  parallel: true,
  jobs: 4,
  // Only in CI; the report names the tests that needed it at the end.
  retries: process.env.CI === 'true' ? 1 : 0,
  // Only there to end a hang: how long a test takes is no question of right or wrong.
  timeout: 240_000,
};
