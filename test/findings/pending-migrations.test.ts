import { expect } from 'chai';
import { withMigrations } from '../support/findings-migrations.ts';

describe('finding pending-migrations', () => {
  const ask = withMigrations();

  it('names the migrations that have not run', async () => {
    const { of } = await ask({ files: ['1_a', '2_b', '3_c', '4_d', '5_e'], executed: ['1_a'] });
    const [finding] = of('pending-migrations');
    expect(finding).to.include({
      label: 'pending migration',
      severity: 'warn',
      sentence: '4 migrations are pending: 2_b, 3_c, 4_d and 1 more',
      place: 'knex_migrations',
      panel: 'migrations',
      anchor: 'pending',
    });
  });

  it('reports nothing if all have run or there are none', async () => {
    expect((await ask({ files: ['1_a'], executed: ['1_a'] })).of('pending-migrations')).to.deep.equal([]);
    expect((await ask({ files: [], executed: [] })).of('pending-migrations')).to.deep.equal([]);
  });
});
