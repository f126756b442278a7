/** An embedded database that can't be used at the start: profiles go to memory, and the owner gets a database once it can. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Knex } from 'knex';
import { type DatabaseAccess, openDatabaseAccess } from '../../app/service/open-database.ts';
import { readConfig } from '../../app/config.ts';
import { createRedactor } from '../../app/profiler/masking/redact.ts';
import type { Store } from '../../app/profiler/store/store.ts';
import { clusterVarDir } from '../support/postgres.ts';
import { until } from '../support/waiting.ts';

describe('an embedded database that can not be used', function () {
  this.timeout(30_000);
  let varDir: string;
  let access: DatabaseAccess;
  const lines: string[] = [];
  const storages: Store[] = [];

  before(async () => {
    varDir = await clusterVarDir();
    access = openDatabaseAccess({
      config: readConfig({ VAR_DIR: varDir }),
      redactor: createRedactor(),
      log: (line) => lines.push(line),
      retryMs: 50,
      onKnex: () => undefined,
      onStorage: (storage) => storages.push(storage),
    });
  });
  after(async () => {
    await access?.close();
    if (varDir !== undefined) rmSync(varDir, { recursive: true, force: true });
  });

  const query = (knex: Knex): Promise<unknown> => knex.raw<{ rows: unknown[] }>('select 1 as one');

  it('is no reason to end, and used as soon as it can be', async () => {
    const file = join(varDir, 'postgres', 'data', 'PG_VERSION');
    const version = readFileSync(file, 'utf8');
    writeFileSync(file, '17\n');
    await access.open();
    expect(storages.map(({ name }) => name)).to.deep.equal(['files']);
    expect(lines.join('\n')).to.match(/kept in files: .*made by PostgreSQL 17[^\n]*$/);
    expect(() => access.knex())
      .to.throw(/made by PostgreSQL 17/)
      .with.property('status', 503);
    writeFileSync(file, version);
    await until(() => lines.some((line) => line.includes('is available now')), 'it was tried again', 20_000);
    expect(lines.filter((line) => line.includes('PostgreSQL 17')).length).to.equal(1);
    const usable = (): boolean => {
      try {
        return access.knex() !== undefined;
      } catch {
        return false;
      }
    };
    await until(usable, 'there is a pool');
    expect(await query(access.knex())).to.have.nested.property('rows[0].one', 1);
    expect(storages.length).to.equal(1);
  });
});
