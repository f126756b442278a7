/** A host whose own Knex is watched: the plan of its slow statement stands beside the profile, masked as the profile is. */
import * as cheerio from 'cheerio';
import { expect } from 'chai';
import express from 'express';
import type { Knex } from 'knex';
import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createProfiler, type Profiler } from '../../app/index.ts';
import type { KeptPlans } from '../../app/profiler/query-plan.ts';
import { close, listen } from '../support/listen.ts';
import { openKnex, withPostgres } from '../support/postgres.ts';
import { until } from '../support/waiting.ts';

const EXPLAIN_MS = 40;

interface Read {
  profile: {
    panels: {
      database: {
        data: {
          queries: { durationMs: number | null }[];
          excerpts?: { place: string; excerpt: { lines: string[] } }[];
        };
      };
    };
  };
  amendments: { plan?: KeptPlans };
}

describe('the plan of a slow statement, in a host', () => {
  const server = withPostgres();
  let knex: Knex;
  let profiler: Profiler;
  let listening: Server;
  let origin: string;

  before(async () => {
    knex = openKnex(server().connection);
    await knex.raw('create table members (id int primary key, password text, name text)');
    await knex.raw(`insert into members select i, 'p' || i, 'n' || i from generate_series(1, 5000) as i`);
    await knex.raw('analyze members');
    profiler = createProfiler({ explainMs: EXPLAIN_MS });
    profiler.watchKnex(knex);
    const app = express();
    app.use(profiler.watch, profiler.pages);
    app.get('/slow', async (req, res) => {
      const given = new URL(req.url, 'http://host').searchParams.get('password') ?? '';
      const text =
        'select m.id from (select pg_sleep(0.12) as nap) as n, members as m where n.nap is not null and (m.password = ? or m.name = ?)';
      const { rows } = await knex.raw<{ rows: unknown[] }>(text, [given, `like ${given}`]);
      res.json(rows);
    });
    app.get('/fast', async (_req, res) => {
      res.json(await knex('members').where({ id: 1 }));
    });
    ({ server: listening, origin } = await listen(app));
  });
  after(async () => {
    if (listening !== undefined) await close(listening, profiler);
    await knex?.destroy();
  });

  async function read(token: string): Promise<Read> {
    return (await (await fetch(`${origin}/_profiler/${token}.json`)).json()) as Read;
  }

  async function planOf(token: string): Promise<KeptPlans> {
    let plan: KeptPlans | undefined;
    await until(async () => {
      plan = (await read(token)).amendments.plan;
      return plan !== undefined;
    }, 'the plan');
    return plan!;
  }

  it('is kept, without what the request gave as a secret, and shown with the query', async () => {
    const answer = await fetch(`${origin}/slow?password=hunter22-hunter22`);
    expect(answer.status).to.equal(200);
    const token = answer.headers.get('x-debug-token') ?? '';
    const plan = await planOf(token);
    expect(plan.plans).to.have.length(1);
    expect(JSON.stringify(plan)).to.contain('Seq Scan').and.not.contain('hunter22');
    const page = await (await fetch(`${origin}/_profiler/${token}?panel=database`)).text();
    expect(page).not.to.contain('hunter22');
    const $ = cheerio.load(page);
    expect($('table.plan tbody tr').length).to.be.at.least(1);
    expect($('table.plan').text()).to.contain('Seq Scan').and.contain('on members');
    expect($('#q1 .badge').text()).to.contain('plan');
    expect($('#p1').length).to.equal(1);
  });

  it('is made for no statement that was quick', async () => {
    let token = '';
    // On a busy machine any statement may take long.
    await until(async () => {
      const answer = await fetch(`${origin}/fast`);
      token = answer.headers.get('x-debug-token') ?? '';
      const { queries } = (await read(token)).profile.panels.database.data;
      return queries.every(({ durationMs }) => durationMs !== null && durationMs < EXPLAIN_MS);
    }, 'the statement is quick');
    await sleep(600);
    expect((await read(token)).amendments.plan).to.equal(undefined);
  });

  it('adds no query to the profile, and the profile shows the line that asked', async () => {
    const answer = await fetch(`${origin}/slow?password=another-secret`);
    const token = answer.headers.get('x-debug-token') ?? '';
    await planOf(token);
    const whole = await read(token);
    expect(JSON.stringify(whole)).not.to.contain('another-secret');
    const { queries, excerpts } = whole.profile.panels.database.data;
    expect(queries).to.have.length(1);
    expect(excerpts).to.have.length(1);
    expect(excerpts?.[0]?.place).to.match(/^test\/observe\/explain-in-host\.test\.ts:\d+$/);
    expect(excerpts?.[0]?.excerpt.lines.join('\n')).to.contain('await knex.raw');
  });
});
