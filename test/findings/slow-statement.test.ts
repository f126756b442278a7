import { expect } from 'chai';
import { load } from 'cheerio';
import { bytesRead } from '../../app/findings/shared/statement-reasons.ts';
import type { Finding } from '../../app/profiler/read/finding.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { timeOf } from '../support/time-of.ts';
import { type Asked, withFindingsDatabase } from '../support/findings-app.ts';
import { until } from '../support/waiting.ts';
import { besideOf } from '../support/beside.ts';
import { draftsOf, ruleOf } from '../support/find-by-rule.ts';

describe('the bytes that a statement read', () => {
  const of = (image: string, rows: number) =>
    bytesRead({
      rows,
      found: [
        { id: 1, image, note: 'a' },
        { id: 2, image, note: 'b' },
      ],
    } as never);

  it('are said if a column has a megabyte of them', () => {
    expect(of('[Buffer, 614400 bytes]', 72)).to.equal(
      'its column image has about 600.0 KiB in each row, 42.2 MiB in all: name the columns that you need',
    );
    expect(of('[Buffer, 614400 bytes]', 1)).to.equal(null);
    expect(of('a text', 1000)).to.equal(null);
  });
});

describe('finding slow-statement', () => {
  const ask = withFindingsDatabase(
    async (knex) => {
      await knex.raw(
        'create table notes as select id, md5(id::text) as text from generate_series(1, 60000) as id',
      );
      await knex.raw('analyze notes');
    },
    (app, knex) => {
      app.get('/scan', async (_req, res) => {
        res.json(await knex('notes').whereRaw(`md5(repeat(text, 60)) = ?`, ['none']));
      });
      app.get('/sleep/:ms', async (req, res) => {
        await knex.raw('select pg_sleep(?)', [Number(req.params.ms) / 1000]);
        res.send('slept');
      });
      app.get('/fails', async (_req, res) => {
        await knex.raw('select pg_sleep(0.13), 1 / (random() * 0)::int').catch(() => null);
        res.status(500).send('failed');
      });
      app.get('/around', async (_req, res) => {
        await knex.raw('select pg_sleep(0.03)');
        await new Promise((done) => setTimeout(done, 120));
        res.send('slept');
      });
    },
  );

  const isFound = ({ of }: Asked): boolean => of('slow-statement').length > 0;

  it('says how long it took, its share of the request and how many rows it returned', async () => {
    // On a busy machine, part of the time is the machine’s.
    const [finding] = (await ask.when('/sleep/130', isFound)).of('slow-statement');
    expect(finding).to.include({ label: 'slow query', severity: 'warn', panel: 'database', anchor: 'q1' });
    expect(finding?.sentence).to.match(
      /^select took \d+\.\d+ m?s \(<?\d+ % of the request\) and returned 1 row$/,
    );
    expect(finding?.costMs).to.be.above(129);
  });

  it('adds what the plan reads, once there is a plan', async () => {
    const { profile, of } = await ask.when('/scan', isFound);
    expect(of('slow-statement')[0]?.sentence).to.match(
      /^select … from notes took \d+\.\d+ m?s \(<?\d+ % of the request\) and returned 0 rows; an ordinary index on text is of no use for md5\(…\)$/,
    );
    let head = '';
    await until(async () => {
      head = load(await ask.page(`/_profiler/${profile.token}`)).text();
      return head.includes('the plan reads');
    }, 'the statement has its plan');
    expect(head).to.match(
      / of no use for md5\(…\); the plan reads about [56]\d,\d{3} rows of notes and keeps about \d+/,
    );
  });

  it('offers the index that the plan lacks', () => {
    const scan = { type: 'Seq Scan', relation: 'public.notes', rows: 5, cost: 900 };
    const codeOf = (filter: string) => {
      const root = { ...scan, terms: { Filter: filter } };
      const plan = {
        plans: [{ query: 0, plannedAt: 0, root, tables: { 'public.notes': 60_000 } }],
      };
      const panels = { database: { data: { queries: [{ group: null }] } } };
      const profile = { panels } as unknown as Profile;
      return ruleOf('slow-statement').code?.({ anchor: 'q1' } as Finding, profile, { plan })?.text;
    };
    expect(codeOf('((author = $1) AND (lower(email) = $2))')).to.equal(
      'create index concurrently on notes (author, lower(email));',
    );
    expect(codeOf('((author = $1) OR (email = $2))')).to.equal(undefined);
  });

  it('formats more than a second as the pages do', async () => {
    const [finding] = (await ask('/sleep/1010')).of('slow-statement');
    expect(finding?.sentence).to.match(/^select took \d\.\d\d s \(\d+ % of the request\)/);
  });

  it('says that a request took longer than usual because of it, from half of the request on', async () => {
    let finding: Finding | undefined;
    await until(async () => {
      for (let times = 0; times < 20; times++) await ask('/sleep/1');
      [finding] = (await ask('/sleep/90')).of('slow-statement');
      return finding?.severity === 'info';
    }, 'the statement takes less than 100 ms, and most of its request');
    expect(finding).to.include({ severity: 'info' });
    expect(finding?.sentence).to.match(
      /^select took \d+\.\d ms \(\d+ % of the request\) and returned 1 row; requests to this route usually take \d+\.\d ms$/,
    );
  });

  it('is one finding for statements that ran side by side', () => {
    const of = { statement: 0, group: null, error: null, rows: 1, caller: null, durationMs: 150 };
    const queries = [0, 3, 7].map((startMs) => ({ ...of, startMs }));
    const database = { statements: [{ sql: 'select pg_sleep($1)' }], queries, groups: [] };
    const found = draftsOf('slow-statement', { database }, { durationMs: 160 });
    expect(found.map(({ sentence }) => sentence)).to.have.length(1);
    expect(found[0]?.sentence).to.match(/, while 2 other slow statements ran$/);
  });

  it('is silent if the process waited for a CPU for most of that time', () => {
    const query = {
      statement: 0,
      group: null,
      error: null,
      rows: 1,
      caller: null,
      startMs: 9,
      durationMs: 150,
    };
    const database = { statements: [{ sql: 'select 1' }], queries: [query], groups: [] };
    const found = (queuedMs: number) =>
      draftsOf(
        'slow-statement',
        { database },
        { durationMs: 180 },
        { ...besideOf([{ kind: 'db', ...query }], { totalMs: 180, queuedMs }), usualMs: 20 },
      );
    expect(found(0)[0]?.severity).to.equal('warn');
    expect(found(60)[0]?.severity).to.equal('info');
    expect(found(120)).to.deep.equal([]);
  });

  it('leaves a statement that failed to its own rule, which comes first', async () => {
    const { of, profile } = await ask('/fails');
    expect(of('slow-statement')).to.deep.equal([]);
    expect(profile.findings[0]).to.include({ rule: 'failed-statement', broke: 'response' });
  });

  describe('in a group', () => {
    const costs = (kind: string, durations: readonly number[]): (string | undefined)[] => {
      const queries = durations.map((durationMs, index) => ({
        ...{ statement: 0, group: 0, error: null, rows: 1, caller: 'a.ts:1' },
        startMs: index * 1000,
        durationMs,
      }));
      const durationMs = durations.reduce((sum, ms) => sum + ms);
      const group = {
        kind,
        statement: 0,
        caller: 'a.ts:1',
        members: queries.map((_, index) => index),
        durationMs,
      };
      const database = { statements: [{ sql: 'select 1' }], queries, groups: [group] };
      return draftsOf('slow-statement', { database }, { durationMs: 9000 }).map(({ costMs }) =>
        String(costMs),
      );
    };

    it('leaves one of a loop to the finding about the loop', () => {
      expect(costs('n+1', [5, 5, 5, 150])).to.deep.equal([]);
      expect(costs('loop', [5, 5, 5, 150])).to.deep.equal([]);
      expect(costs('duplicate', [5, 150])).to.deep.equal(['150']);
    });

    it('is one finding if each of them is slow', () => {
      expect(costs('n+1', [120, 130, 125])).to.deep.equal(['130']);
      expect(costs('duplicate', [120, 130])).to.deep.equal(['130']);
    });
  });

  it('ignores a quick statement in a slow request', async () => {
    const { of, profile } = await ask.when('/around', (asked) => timeOf(asked.profile, 'db') < 100);
    expect(profile.durationMs).to.be.above(140);
    expect(of('slow-statement')).to.deep.equal([]);
  });
});
