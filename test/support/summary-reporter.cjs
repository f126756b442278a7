/**
 * Mocha's usual report, closed by one plain line that a script can read: `12 passed, 0 failed, 1 skipped`. Where tests are
 * tried again, those that needed it are named before it with what was wrong at first.
 */
const { reporters } = require('mocha');

module.exports = class SummaryReporter extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const again = new Map();
    runner.on('retry', (test, error) => again.set(test.fullTitle(), error));
    runner.once('end', () => {
      const { passes, failures, pending } = runner.stats;
      for (const [title, error] of again)
        process.stdout.write(`tried again: ${title}\n${error?.stack ?? error}\n`);
      process.stdout.write(`${passes} passed, ${failures} failed, ${pending} skipped\n`);
    });
  }
};
