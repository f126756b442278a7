/** Rules that compare statements with each other: a size that would take minutes if each were compared with all. */
import { expect } from 'chai';
import { cpuMsOf } from '../support/waiting.ts';
import { ruleOf, sentencesOf } from '../support/find-by-rule.ts';

const MANY = 5000;
const FIELDS = Object.fromEntries(Array.from({ length: 400 }, (_, at) => [`field_${at}`, 'x'.repeat(20)]));

interface Statement {
  sql: string;
  caller?: string;
  values?: Record<string, unknown>;
  found?: readonly object[];
  rows?: number;
}

function database(all: readonly Statement[]): object {
  return {
    statements: all.map(({ sql }) => ({ sql, system: 'sqlite', label: 'the statement' })),
    queries: all.map(({ caller = 'src/app.ts:1', values = {}, found = [], rows = 1 }, index) => ({
      statement: index,
      bindings: Object.entries(values).map(([name, value]) => ({ name, value })),
      caller,
      found,
      rows,
      error: null,
      startMs: index,
      durationMs: 1,
      transaction: null,
    })),
  };
}

const request = { query: [], body: { parsed: FIELDS }, response: { text: JSON.stringify(FIELDS) } };
const many = (one: (at: number) => Statement): Statement[] =>
  Array.from({ length: MANY }, (_, at) => one(at));

describe('rules over many statements', () => {
  it('finds a last day that is left out', () => {
    const all = many((at) => ({
      sql: `select a${at} from visits where visit_at between ? and ?`,
      values: { from: '2026-03-01', to: '2026-03-31' },
    }));
    const kept = { request, database: database(all) };
    expect(sentencesOf('last-day-left-out', kept)).to.deep.equal([]);
    expect(ruleOf('last-day-left-out').compares?.(kept, {} as never)).to.equal(true);
    const last = {
      sql: 'insert into visits (visit_at) values (?)',
      values: { visit_at: '2026-03-31T10:00:00Z' },
    };
    expect(
      sentencesOf('last-day-left-out', { request, database: database([...all, last]) }),
    ).to.have.lengthOf(MANY);
  });

  it('looks for reads outside of many transactions', () => {
    const data = database(
      Array.from({ length: 1500 }, (_, at): Statement[] => [
        { sql: 'begin' },
        { sql: `update items set stock = 1 where id = ${at}` },
        { sql: `select stock from items where id = ${at}`, found: [{ stock: 1 }] },
        { sql: 'commit' },
      ]).flat(),
    ) as { queries: object[] };
    const queries = data.queries.map((query, at) => ({
      ...query,
      transaction: `t${Math.floor(at / 4)}`,
      connection: 'c1',
      instance: 'db',
      waitMs: 0,
    }));
    const ms = cpuMsOf(() => {
      const kept = { database: { ...data, queries } };
      expect(sentencesOf('read-outside-transaction', kept)).to.deep.equal([]);
    });
    expect(ms).to.be.lessThan(1500);
  });

  it('tells which of many failures were tried again', () => {
    const sql = 'update items set stock = stock - $1 where id = $2';
    const data = database(
      Array.from({ length: 600 }, (_, at): Statement[] => [
        { sql: 'begin' },
        { sql: 'select stock from items where id = $1 for update', values: { id: at % 300 } },
        { sql, values: { stock: 1, id: at % 300 } },
        { sql: at < 300 ? 'rollback' : 'commit' },
      ]).flat(),
    ) as { statements: { sql: string }[]; queries: object[] };
    const texts = [...new Set(data.statements.map(({ sql: text }) => text))];
    const kept = {
      database: {
        statements: texts.map((text) => ({ sql: text, system: 'postgresql', label: 'the statement' })),
        totals: { failed: 300 },
        groups: [],
        queries: data.queries.map((query, at) => ({
          ...query,
          statement: texts.indexOf(data.statements[at]?.sql ?? ''),
          transaction: `t${Math.floor(at / 4)}`,
          connection: 'c1',
          error: at % 4 === 2 && at < 1200 ? 'could not serialize access' : null,
        })),
      },
    };
    const head = { method: 'POST', status: 200, outcome: 'finished' };
    const ms = cpuMsOf(() => {
      expect(sentencesOf('failed-statement', kept, head)).to.deep.equal([]);
    });
    expect(ms).to.be.lessThan(500);
  });

  it('finds a step that ran twice', () => {
    const all = many((at) => ({
      sql: 'update items set stock = stock + ? where id = ?',
      values: { stock: 1, id: at },
      caller: `src/app.ts:${at}`,
    }));
    const again = {
      ...all[7],
      sql: 'update items set stock = stock + ? where id = ?',
      caller: 'src/hook.ts:3',
    };
    const [found, ...others] = sentencesOf('step-twice', { database: database([...all, again]) });
    expect(found).to.include('as src/app.ts:7 had done');
    expect(others).to.deep.equal([]);
  });

  it('finds emptied fields, and numbers that were compared as texts', () => {
    const rows = { found: [{ id: 1, phone: '12', fax: '9', limit: '1100', amount: '950' }] };
    const read = { sql: 'select * from members', ...rows };
    const patch = many((at) => ({ sql: `update members set phone = null, fax = null where id = ${at}` }));
    const emptied = sentencesOf(
      'fields-emptied',
      { request, database: database([...patch, read, ...patch.slice(0, 1)]) },
      { method: 'PATCH', status: 200 },
    );
    expect(emptied).to.have.lengthOf(1);
    const reads = many((at) => ({ sql: `select a${at}`, found: [{ price: `${at}.5` }] }));
    const writes = many((at) => ({
      sql: `update items set rest = ? where id = ${at}`,
      values: { rest: -at - 0.25 },
    }));
    const bought = { sql: 'update members set rest = ?', values: { rest: -150 } };
    const compared = sentencesOf('text-compared', {
      request,
      database: database([...reads.slice(0, 2000), read, ...writes.slice(0, 200), bought]),
    });
    expect(compared).to.have.lengthOf(1);
  });
});
