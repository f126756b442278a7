/** Recorded text may be made to be slow for an expression. Twice the text must not take four times as long, whatever the rule. */
import { expect } from 'chai';
import { createFindingRules } from '../../app/findings/index.ts';
import { NOTHING_BESIDE } from '../support/beside.ts';
import { type AskedQuery, keptQueries, keptRequest } from '../support/kept-queries.ts';
import { cpuMsOf } from '../support/waiting.ts';

/** As much as is recorded of a body and of a statement. */
const BODY = 16_384;
const SQL = 20_000;
/** Of one rule with one text. A quadratic expression took 100 ms and more, a cubic one did not end. */
const MOST_MS = 60;

const UNITS = [
  '<', '<a', '<a<b', '<a on', '<dt>', '<C<S', '<script', '-0ifajv-g', '0', '\t', ' ;', '?', '#', '.error.g', 'Mdeep', 'deep', 'merge', 'o=o', 'o=',
]; // prettier-ignore

function keptOf(unit: string) {
  const text = unit.repeat(BODY / unit.length);
  const literal = unit.replaceAll("'", '').repeat(SQL / unit.length - 10);
  const headers = ['accept-language', 'cache-control', 'etag'].map((name) => ({ name, value: text, at: 0 }));
  const request = keptRequest({ query: { q: text }, params: { id: text }, body: { a: { b: text }, c: text }, user: { name: 'Ada Byron' } }); // prettier-ignore
  return {
    database: keptQueries(
      { sql: `update a set b = '${literal}' where id = 1`, bindings: { c: '{"b":1}' } },
      {
        sql: `insert into a (b) values ('${literal}')`,
        bindings: { c: '{"b":1}' },
        system: 'mysql',
        rows: 2,
      },
      { sql: `select b from a where c = '${literal}'`, rows: 0 },
    ),
    request: {
      ...request,
      headers,
      response: {
        contentType: 'text/html',
        truncated: false,
        bytes: BODY,
        text: `${text}Ada Byron`,
        headers,
      },
    },
  };
}

describe('the time that rules take', () => {
  for (const unit of UNITS)
    it(`stays short for ${JSON.stringify(unit)}, many times`, () => {
      const kept = keptOf(unit);
      const earlier = [{ head: { method: 'PUT', status: 200, url: '/', token: '0a1b2c' }, kept }];
      const beside = { ...NOTHING_BESIDE, siblings: earlier, earlier };
      const head = {
        method: 'PATCH',
        status: 200,
        url: `/${unit.repeat(4000 / unit.length)}`,
        route: '/:id',
      };
      for (const rule of createFindingRules()) {
        if (!rule.needs.every((name) => name in kept)) continue;
        let least = Infinity;
        // A busy machine, or the compiler, may take the time of one round.
        for (let round = 0; round < 3 && least > MOST_MS; round++)
          least = Math.min(
            least,
            cpuMsOf(() => find(rule, { kept, head, beside })),
          );
        expect(least, rule.name).to.be.lessThan(MOST_MS);
      }
    });

  it('stays short for a thousand statements', () => {
    const asked = Array.from({ length: 500 }, (_, at): AskedQuery[] => [
      {
        sql: 'select id, name, weight from cats where id = ?',
        bindings: { 1: at % 50 },
        rows: 1,
        found: [{ id: at % 50, name: 'cat', weight: at }],
        system: 'mysql',
      },
      {
        sql: 'replace into cats (id, name) values (?, ?)',
        bindings: { id: at % 50, name: `cat ${at}` },
        rows: 2,
        system: 'mysql',
      },
    ]);
    const database = keptQueries(...asked.flat());
    const head = { method: 'PATCH', status: 200, url: '/', route: '/' };
    for (const rule of createFindingRules())
      if (rule.needs.every((name) => name === 'database'))
        expect(
          cpuMsOf(() => find(rule, { kept: { database }, head, beside: NOTHING_BESIDE })),
          rule.name,
        ).to.be.lessThan(1500);
  });

  it('stays short for thousands of commands of a cache', () => {
    const command = { error: null, durationMs: 0, args: [], asked: 1, hits: 0, caller: 'src/app.ts:1' };
    const items = Array.from({ length: 9000 }, (_, at) => ({
      ...command,
      command: at % 3 === 2 ? 'SET' : 'GET',
      key: `key ${at % 3 === 2 ? at - 2 : at}`,
      startMs: at,
      past: { misses: 9, lineMisses: 9 },
    }));
    const head = { method: 'GET', status: 200, url: '/', route: '/', durationMs: 9000 };
    for (const rule of createFindingRules())
      if (rule.needs.every((name) => name === 'cache'))
        expect(
          cpuMsOf(() => find(rule, { kept: { cache: { items } }, head, beside: NOTHING_BESIDE })),
          rule.name,
        ).to.be.lessThan(400);
  });
});

/** Some rules need more of a record than is here; they have then read what is. */
function find(
  rule: ReturnType<typeof createFindingRules>[number],
  { kept, head, beside }: { kept: object; head: object; beside: object },
): void {
  try {
    rule.find(kept as never, head as never, beside as never);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}
