/** A short form of `npm run faults`: the built service, its PostgreSQL behind a relay, and a few of its faults, one of each kind. */
import { expect } from 'chai';
import { faults } from '../../bench/faults/index.ts';
import { createReport } from '../../bench/faults/outcome.ts';
import { sharedPart } from '../support/shared-part.ts';
import { withPostgres } from '../support/postgres.ts';

/** What else the service goes through: test/service/restarts.test.ts, test/database/connection.test.ts. */
const SHORT = ['crash', 'stall', 'schema-dropped', 'terminated', 'sigkill-away'];
const OPTIONS = { seconds: 1, rate: 10, rounds: 1, stored: 100 };

describe('faults of the database and of the process', () => {
  // Skips where there is no PostgreSQL.
  withPostgres();
  before(() => sharedPart('build'));

  it('have a drive for each of 29, and a name of their own', () => {
    const numbers = Array.from({ length: 29 }, (_, at) => `D-${String(at + 1).padStart(2, '0')}`);
    expect([...new Set(faults.map(({ number }) => number))].sort()).to.deep.equal(numbers);
    expect(new Set(faults.map(({ name }) => name)).size).to.equal(faults.length);
  });

  for (const fault of faults.filter(({ name }) => SHORT.includes(name)))
    it(`lose no profile: ${fault.title}`, async () => {
      const report = createReport();
      await fault.drive(OPTIONS, report);
      expect(report.outcome().broken).to.deep.equal([]);
    });
});
