import { expect } from 'chai';
import { createDatabasePanel } from '../../../app/panels/database/index.ts';
import { overlapsOf } from '../../../app/panels/shared/overlap.ts';
import type { EarlierRequest } from '../../../app/profiler/read/finding-rule.ts';
import { Context } from '../../../app/profiler/record/context.ts';
import type { Facts } from '../../../app/profiler/record/facts.ts';
import { cpuMsOf } from '../../support/waiting.ts';
import { query } from '../../support/observed-samples.ts';

function requestOf(token: string, startedAt: number, ...facts: Partial<Facts['query']>[]): EarlierRequest {
  const context = new Context({ token, kind: 'request' });
  for (const fact of facts) context.add('query', query(fact));
  return {
    head: { token, startedAt, process: 'web.1', url: '/loans' },
    kept: { database: createDatabasePanel().collect?.(context) },
  } as unknown as EarlierRequest;
}

describe('what two requests at the same time touched', () => {
  it('names a row by what all of its reads and writes compare, not by the version that one expects', () => {
    const sql = 'select available, version from tools where id = $1';
    const read = (startMs: number): Partial<Facts['query']> => ({ sql, bindings: [2], rows: 1, startMs });
    const write = (startMs: number, version: number): Partial<Facts['query']> => ({
      sql: 'update tools set available = $1, version = $2 where id = $3 and version = $4',
      bindings: [9 - version, version + 1, 2, version],
      rows: 1,
      startMs,
    });
    const here = requestOf('000001', 0, read(0), read(200), write(300, 1));
    const there = requestOf('000002', 0, read(50), write(100, 0));
    const shown = ([overlap]: ReturnType<typeof overlapsOf>) =>
      overlap?.shared.map(({ name, order }) => `${name}: ${order}`);
    expect(shown(overlapsOf(here, [there]))).to.deep.equal([
      'tools where id = 2: read here, read there, written there, read here, written here',
    ]);
    const first = 'tools where id = 2: written here, read there, written there';
    expect(shown(overlapsOf(requestOf('000001', 0, write(0, 0)), [there]))).to.deep.equal([first]);
  });

  it('is found in time that grows with the rows, not with their square', () => {
    const facts = (seen: number): Partial<Facts['query']>[] =>
      Array.from({ length: 100 }, (_, at) => [
        { sql: 'select stock from items where id = $1', bindings: [at], rows: 1, startMs: 2 * at },
        {
          sql: 'update items set stock = $1 where id = $2',
          bindings: [seen, at],
          rows: 1,
          startMs: 2 * at + 1,
        },
      ]).flat();
    const here = requestOf('000001', 0, ...facts(1));
    const others = Array.from({ length: 20 }, (_, at) => requestOf(`0000${10 + at}`, at, ...facts(at)));
    overlapsOf(here, others.slice(0, 2));
    const ms = cpuMsOf(() => {
      expect(overlapsOf(here, others)).to.have.length(20);
    });
    expect(ms).to.be.lessThan(250);
  });
});
