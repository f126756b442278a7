import { expect } from 'chai';
import { withMigrations } from '../support/findings-migrations.ts';

describe('finding unknown-migrations', () => {
  const ask = withMigrations();

  it('names the migrations that the code does not have', async () => {
    const { of } = await ask({ files: ['1_a'], executed: ['1_a', '2_tomorrow'] });
    expect(of('unknown-migrations')[0]).to.include({
      label: 'unknown migration',
      severity: 'info',
      sentence: 'The database has 1 migration that this code does not have: 2_tomorrow',
      anchor: 'unknown',
    });
  });

  it('reports nothing if the code has all of them and more', async () => {
    const { of } = await ask({ files: ['1_a', '2_b'], executed: ['1_a'] });
    expect(of('unknown-migrations')).to.deep.equal([]);
  });
});
