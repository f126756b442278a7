/** The steps of a batch, on a session that answers as it is told. */
import { expect } from 'chai';
import { createScratch } from '../../app/storage/copy-csv.ts';
import { writeProfiles, type WriteOptions } from '../../app/storage/postgres-write.ts';
import { writeRowOf } from '../../app/storage/rows.ts';
import type { Session } from '../../app/storage/session.ts';
import { profileOf } from './contract.ts';

function sessionThat(answer: (sql: string) => unknown[]): { session: Session; sent: string[] } {
  const sent: string[] = [];
  return {
    sent,
    session: {
      query(sql) {
        sent.push(sql.trim().split(/[ ;]/)[0] ?? '');
        return Promise.resolve({ rows: answer(sql) });
      },
      copy(sql) {
        sent.push(sql.endsWith('; commit') ? 'copy and commit' : 'copy');
        return Promise.resolve();
      },
      literal: (text) => `'${text}'`,
    },
  };
}

function optionsOf(signal?: AbortSignal): WriteOptions {
  return {
    schema: 'app',
    partitions: { prepare: () => Promise.resolve() },
    scratch: createScratch(),
    ...(signal === undefined ? {} : { signal }),
  };
}

const rows = [1, 2].map((number) => writeRowOf(profileOf(number)));

describe('writing a batch', () => {
  it('takes two round trips where nothing of it is stored', async () => {
    const { session, sent } = sessionThat(() => []);
    expect(await writeProfiles(session, optionsOf(), rows)).to.deep.equal([]);
    expect(sent).to.deep.equal(['begin', 'copy and commit']);
  });

  it('deletes what the same request wrote before', async () => {
    const { index } = profileOf(1);
    const before = {
      token: index.token,
      started_at: String(index.startedAt),
      process: index.process,
      state: 'running',
    };
    const { session, sent } = sessionThat((sql) => (sql.startsWith('begin') ? [before] : []));
    await writeProfiles(session, optionsOf(), rows);
    expect(sent).to.deep.equal(['begin', 'delete', 'copy and commit']);
  });

  it('reads no bytes any more once it was given up', async () => {
    const given = new AbortController();
    const { session, sent } = sessionThat(() => {
      given.abort();
      return [];
    });
    const outcome = await writeProfiles(session, optionsOf(given.signal), rows).then(
      () => 'stored',
      (error: unknown) => (error as Error).message,
    );
    expect(outcome).to.match(/too late/);
    expect(sent).to.deep.equal(['begin', 'rollback']);
  });
});
