import { setTimeout as pause } from 'node:timers/promises';
import * as bullmq from 'bullmq';
import { expect } from 'chai';
import type { Knex } from 'knex';
import { bullmqPatch } from '../../app/observe/channels/bullmq.ts';
import type { Finding, Profiler } from '../../app/index.ts';
import { urls } from '../../app/urls.ts';
import { withFindingsDatabase } from '../support/findings-app.ts';
import { withRedis } from '../support/redis.ts';
import { until } from '../support/waiting.ts';

describe('finding job-before-commit', () => {
  const path = withRedis();
  let undo: (() => void) | null;
  let queue: bullmq.Queue;
  let worker: bullmq.Worker;
  let profiler: Profiler;
  let database: Knex;

  /** Ends well after the last statement of the job. */
  const ran = async (job: bullmq.Job): Promise<void> => {
    await until(async () => (await job.getState()) === 'completed', 'the job ran');
    await pause(20);
  };

  const ask = withFindingsDatabase(
    (knex) => knex.raw('create table tickets (id serial primary key, holder text)'),
    (app, knex, made) => {
      profiler = made;
      database = knex;
      const insert = async (db: Knex): Promise<number> => {
        const [row] = await db('tickets').insert({ holder: 'Uwe' }).returning<{ id: number }[]>('id');
        return row!.id;
      };
      app.post('/before', async (_req, res) => {
        await knex.transaction(async (trx) => {
          const job = await queue.add('confirm', { ticketId: await insert(trx) });
          await ran(job);
        });
        res.send('sold');
      });
      app.post('/given/:holder', async ({ params: { holder } }, res) => {
        const ticketId = await insert(knex);
        await knex.transaction(async (trx) => {
          await trx('tickets').where({ id: ticketId }).update({ holder });
          const job = await queue.add('confirm', { ticketId, holder: 'Eva' });
          await ran(job);
        });
        res.send('given');
      });
      app.post('/after', async (_req, res) => {
        const ticketId = await knex.transaction(insert);
        const job = await queue.add('confirm', { ticketId });
        await ran(job);
        res.send('sold');
      });
      app.post('/undone/:when', async (req, res) => {
        const { when } = req.params;
        await knex
          .transaction(async (trx) => {
            const ticketId = await insert(trx);
            if (when === 'between') await queue.add('confirm', { ticketId });
            await insert(trx);
            if (when === 'failed') await queue.add('refused', { ticketId });
            if (when !== 'committed') throw new Error('sold out');
          })
          .catch(() => null);
        if (when === 'later') await queue.add('refused', {});
        res.status(409).send('sold out');
      });
    },
  );

  before(() => {
    undo = bullmqPatch.patch(bullmq);
    const connection = { path: path(), maxRetriesPerRequest: null };
    queue = new bullmq.Queue('mails', { connection });
    worker = new bullmq.Worker(
      'mails',
      async ({ data: { ticketId: id, holder } }: bullmq.Job<{ ticketId: number; holder?: string }>) => {
        const where = holder === undefined ? { id } : { id, holder };
        const ticket: unknown = await database('tickets').where(where).first();
        return { sent: ticket !== undefined };
      },
      { connection },
    );
  });
  after(async () => {
    await worker?.close();
    await queue?.obliterate({ force: true });
    await queue?.close();
    undo?.();
  });

  /** What is found in the request and in its job, once both are stored. */
  async function foundIn(address: string): Promise<{ request: Finding[]; job: Finding[]; tokens: string[] }> {
    const { token } = (await ask(address, { method: 'POST' })).profile;
    let job = '';
    await until(async () => {
      const child = (await profiler.profiles.children(token)).find(({ kind }) => kind === 'job');
      job = child?.token ?? '';
      return child?.state === 'final';
    }, 'the job has a profile');
    const read = async (one: string): Promise<Finding[]> => {
      const stored = JSON.parse(await ask.page(urls.profileJson(one))) as {
        profile: { findings: Finding[] };
      };
      return stored.profile.findings.filter(({ rule }) => rule === 'job-before-commit');
    };
    return { request: await read(token), job: await read(job), tokens: [token, job] };
  }

  it('names both lines, in the request and in the job', async () => {
    const { request, job, tokens } = await foundIn('/before');
    const [token, jobToken] = tokens;
    expect(request.map(({ sentence }) => sentence.replace(/\d[\d.,]* m?s/, '9 ms'))).to.deep.equal([
      `The job mails/confirm (${jobToken}) ran 9 ms before the COMMIT of the transaction with insert into tickets (test/findings/job-before-commit.test.ts:32): its select … from tickets (test/findings/job-before-commit.test.ts:82) found no row`,
    ]);
    expect(request[0]).to.include({ panel: 'jobs', anchor: 'j1', broke: 'unseen', severity: 'bad' });
    expect(request[0]?.place).to.match(/job-before-commit\.test\.ts:37$/);
    expect(job.map(({ sentence }) => sentence.replace(/\d[\d.,]* m?s/, '9 ms'))).to.deep.equal([
      `select … from tickets found no row: it ran 9 ms before the COMMIT of the transaction in which POST /before (${token}) had sent insert into tickets (test/findings/job-before-commit.test.ts:32) and added this job (test/findings/job-before-commit.test.ts:37)`,
    ]);
    expect(job[0]?.place).to.match(/job-before-commit\.test\.ts:82$/);
  });

  it('names a job that looked for the value which the transaction gave to a row', async () => {
    const { request } = await foundIn('/given/Eva');
    expect(request[0]?.sentence).to.contain('with update tickets').and.contain('found no row');
    expect((await foundIn('/given/Ann')).request).to.deep.equal([]);
  });

  it('ignores a job that was added after the transaction', async () => {
    const { request, job } = await foundIn('/after');
    expect(request).to.deep.equal([]);
    expect(job).to.deep.equal([]);
  });

  it('names a job whose transaction was rolled back, and shows that end among the steps', async () => {
    const { of, profile } = await ask('/undone/between', { method: 'POST' });
    const [finding] = of('job-of-rollback');
    expect(finding?.sentence).to.match(
      /^The job mails\/confirm was added [\d.]+ m?s before the ROLLBACK of the transaction around it, which undid 2 statements but not the job$/,
    );
    expect(finding).to.include({ panel: 'jobs', anchor: 'j1', severity: 'bad' });
    expect(finding?.place).to.match(/job-before-commit\.test\.ts:62$/);
    expect(await ask.page(urls.profileMarkdown(profile.token))).to.match(
      /`transaction` \| `ROLLBACK` \|[^|]* T1/,
    );
    for (const when of ['failed', 'later', 'committed'])
      expect((await ask(`/undone/${when}`, { method: 'POST' })).of('job-of-rollback'), when).to.deep.equal(
        [],
      );
  });
});
