/**
 * Mocha's usual report, closed by the tests that needed a second try, the files with skipped tests, the ten slowest files of many and one
 * plain line that a script can read: `12 passed, 0 failed, 1 skipped`. `.ci/run` reads the files with skipped tests, too.
 */
const { relative } = require('node:path');
const { reporters } = require('mocha');

const SLOWEST = 10;

module.exports = class SummaryReporter extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const spent = new Map();
    const retried = [];
    const skipped = new Set();
    runner.on('retry', (test, { message }) => {
      retried.push(`    ${relative('', test.file)}: ${test.fullTitle()}: ${message}`);
    });
    runner.on('pending', ({ file }) => skipped.add(`    ${relative('', file)}`));
    const add = ({ file, duration }) => {
      // A hook outside of any suite belongs to no file.
      if (file !== undefined) spent.set(file, (spent.get(file) ?? 0) + (duration ?? 0));
    };
    runner.on('test end', add);
    runner.on('hook end', add);
    runner.once('end', () => {
      const { passes, failures, pending } = runner.stats;
      const slowest = [...spent].sort(([, one], [, other]) => other - one).slice(0, SLOWEST);
      const lines = slowest.map(
        ([file, ms]) => `${(ms / 1000).toFixed(1).padStart(8)} s  ${relative('', file)}`,
      );
      if (retried.length > 0)
        process.stdout.write(`  Failed, and tried once more:\n${retried.join('\n')}\n\n`);
      if (skipped.size > 0) process.stdout.write(`  Skipped tests in:\n${[...skipped].join('\n')}\n\n`);
      if (spent.size > SLOWEST) process.stdout.write(`  The slowest files:\n${lines.join('\n')}\n\n`);
      process.stdout.write(`${passes} passed, ${failures} failed, ${pending} skipped\n`);
    });
  }
};
