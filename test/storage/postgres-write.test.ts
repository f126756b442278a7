/** The steps of a batch, on a connection that answers as it is told. */
import { expect } from 'chai';
import type { Client } from '../../app/storage/pool.ts';
import { batchOf, writeProfiles } from '../../app/storage/postgres-write.ts';
import { profileOf } from './contract.ts';

interface Copy {
  submit(connection: { query(sql: string): void }): void;
  handleReadyForQuery(): void;
}

/** `stored`: rows that the look-up finds. */
function clientThat(stored: () => unknown[]): { client: Client; sent: string[] } {
  const sent: string[] = [];
  const query = (asked: string | Copy): unknown => {
    if (typeof asked === 'string') {
      sent.push(asked.trim().split(/[ ;]/)[0] ?? '');
      return Promise.resolve(asked.startsWith('begin') ? [{ rows: stored() }] : { rows: [] });
    }
    asked.submit({ query: (sql) => sent.push(sql.endsWith('; commit') ? 'copy and commit' : 'copy') });
    asked.handleReadyForQuery();
    return asked;
  };
  const client = { query, escapeLiteral: (text: string) => `'${text}'` };
  return { client: client as unknown as Client, sent };
}

const options = { schema: 'app', partitions: { prepare: () => Promise.resolve() } };
const profiles = [2, 1].map((number) => profileOf(number));

describe('writing a batch', () => {
  it('takes two round trips where nothing of it is stored', async () => {
    const { client, sent } = clientThat(() => []);
    expect(await writeProfiles(client, options, batchOf(profiles))).to.deep.equal([]);
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
    const { client, sent } = clientThat(() => [before]);
    await writeProfiles(client, options, batchOf(profiles));
    expect(sent).to.deep.equal(['begin', 'delete', 'copy and commit']);
  });

  it('is made ready in the order of tokens, in memory that goes to the thread as it is', () => {
    const { rows, data, ends } = batchOf(profiles);
    expect(rows.map(({ token }) => token)).to.deep.equal(['000001', '000002']);
    expect(data.byteOffset).to.equal(0);
    expect(data.buffer.byteLength).to.equal(data.length);
    expect(ends.at(-1)).to.equal(data.length);
  });
});
