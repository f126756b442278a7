/**
 * `npm test`: all tests but the slow ones. `spec` is given only where no file or folder is named on the command line: mocha adds the two, so
 * that `npm test -- test/x.test.ts` would run everything. What is named runs in this process, so that `.only` and a debugger work, and
 * ends with its last test, whatever it left open; in parallel, mocha ends its workers the same way.
 */
const slow = require('./.mocharc.slow.cjs');

/** Folders with long files: one that began last would run alone. */
const LONG = 'observe,storage,export,cli';

const named = process.argv.slice(2).some((argument) => /^(\.\/)?test\/(.*\.test\.ts|[^.]*)$/.test(argument));

module.exports = {
  ...slow,
  spec: named
    ? []
    : [`test/{${LONG}}/**/*.test.ts`, 'test/*.test.ts', `test/!(${LONG.replaceAll(',', '|')})/**/*.test.ts`],
  ignore: named ? [] : [...slow.ignore, ...slow.spec],
  parallel: !named,
  // These compute.
  jobs: 3,
  exit: named,
};
