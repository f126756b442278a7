/** bullmq in its current and previous major version, against a real Redis, in the real profiler. */
import * as bullmq from 'bullmq';
import * as bullmq5 from 'bullmq-5';
import { load } from 'cheerio';
import { expect } from 'chai';
import { bullmqPatch } from '../../app/observe/channels/bullmq.ts';
import type { JobsData } from '../../app/panels/jobs/index.ts';
import { createProfiler, type Profiler } from '../../app/index.ts';
import type { ProfileIndex } from '../../app/profiler/store/profile-index.ts';
import { urls } from '../../app/urls.ts';
import { withFindingsApp } from '../support/findings-app.ts';
import { useRecordingLimit } from '../support/recording-limit.ts';
import { withRedis } from '../support/redis.ts';
import { until } from '../support/waiting.ts';

const HERE = /^test\/observe\/jobs\.test\.ts:\d+$/;

for (const [version, library] of [
  ['6', bullmq],
  ['5', bullmq5 as unknown as typeof bullmq],
] as const)
  describe(`jobs of bullmq ${version}`, () => {
    const path = withRedis();
    let undo: (() => void) | null;
    let queue: bullmq.Queue;
    let worker: bullmq.Worker;
    let profiler: Profiler;
    const ask = withFindingsApp((app, made) => {
      profiler = made;
      app.get('/order', async (_req, res) => {
        await queue.add('confirm', { order: 7, password: 'hunter22' });
        res.send('done');
      });
      app.get('/failing', async (_req, res) => {
        await queue.add('fail', {});
        res.send('done');
      });
      app.get('/own-id', async (_req, res) => {
        await queue.add('confirm', {}, { jobId: 'own' });
        res.send('done');
      });
      app.get('/bulk', async (_req, res) => {
        await queue.addBulk(
          [1, 2, 3].map((order) => ({ name: 'later', data: { order }, opts: { delay: 1e6 } })),
        );
        res.send('done');
      });
      app.get('/many/:id', async (req, res) => {
        await queue.add('later', { id: req.params.id }, { delay: 1e6 });
        res.send('done');
      });
    });

    before(() => {
      undo = bullmqPatch.patch(library);
      const connection = { path: path(), maxRetriesPerRequest: null };
      const name = `mails-${version}`;
      queue = new library.Queue(name, { connection });
      worker = new library.Worker(
        name,
        (job: bullmq.Job) => {
          if (job.name === 'fail') throw new TypeError('no such template');
          return Promise.resolve({ sent: true });
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

    it('know that a job of their own id is done, until it is removed', async () => {
      const doneIn = async () =>
        ((await ask('/own-id')).profile.panels.jobs?.data as JobsData).items[0]?.ownId?.doneIn;
      const first = await ask('/own-id');
      const { token } = await jobOf(first.profile.token);
      expect(await doneIn()).to.equal(token);
      await (await queue.getJob('own'))?.remove();
      expect(await doneIn(), 'added anew').to.equal(undefined);
    });

    /** The stored profile of the job that a request added. */
    async function jobOf(token: string): Promise<ProfileIndex> {
      let found: ProfileIndex | undefined;
      await until(async () => {
        [found] = (await profiler.profiles.children(token)).filter(({ kind }) => kind === 'job');
        return found?.state === 'final';
      }, 'the job has a profile');
      return found!;
    }

    it('records what a request added: queue, name, id, masked data, time and line', async () => {
      const { profile } = await ask('/order');
      const [job] = (profile.panels.jobs?.data as JobsData).items;
      expect(job).to.deep.include({
        queue: `mails-${version}`,
        name: 'confirm',
        error: null,
        data: { order: 7, password: '[masked 1, string]' },
      });
      expect(job?.id).to.match(/^\d+$/);
      expect(job?.caller).to.match(HERE);
      expect(job?.durationMs).to.be.above(0);
      const bulk = (await ask('/bulk')).profile.panels.jobs?.data as JobsData;
      expect(bulk.items.map(({ delayMs, data }) => [delayMs, data])).to.deep.equal(
        [1, 2, 3].map((order) => [1e6, { order }]),
      );
      expect(new Set(bulk.items.map(({ id }) => id)).size).to.equal(3);
    });

    it('gives the job that a worker works on a profile of its own, linked both ways', async () => {
      const { profile } = await ask('/order');
      const job = await jobOf(profile.token);
      expect(job).to.include({
        kind: 'job',
        method: 'JOB',
        url: `mails-${version}/confirm`,
        status: null,
        error: null,
      });
      const found = await profiler.profiles.read(job.token);
      expect(found?.profile).to.include({ parent: profile.token, outcome: 'finished' });
      const { run } = found?.profile.panels.jobs?.data as JobsData;
      expect(run).to.deep.include({ outcome: 'completed', attempt: 1, result: { sent: true } });
      expect(run?.addedAt).to.equal((profile.panels.jobs?.data as JobsData).items[0]?.caller);
      const page = load(await ask.page(urls.profile(job.token)));
      expect(page('h1').text().replace(/\s+/g, ' ').trim()).to.match(/JOB ?mails-\d\/confirm/);
      expect(page(`a[href="${urls.profile(profile.token)}"]`).length).to.be.above(0);
      const adding = load(await ask.page(urls.profile(profile.token, 'jobs')));
      expect(adding(`a[href="${urls.profile(job.token)}"]`).length).to.be.above(0);
      // Panels that recorded nothing are not in the menu, unless they are those of every application.
      const listed = (panel: string): number =>
        adding(`a[href="${urls.profile(profile.token, panel)}"]`).length;
      expect([listed('jobs') > 0, listed('database') > 0, listed('mail')]).to.deep.equal([true, true, 0]);
      expect(await ask.page(urls.profile(profile.token, 'mail'))).to.contain('This request sent no mail.');
    });

    it('says which worker ran it, what it returned, and that the queue has another one', async () => {
      const connection = { path: path(), maxRetriesPerRequest: null };
      const other = new library.Worker(`mails-${version}`, () => Promise.resolve(null), {
        connection,
        autorun: false,
      });
      try {
        void other.run().catch(() => undefined);
        const { profile } = await ask('/order');
        const job = await jobOf(profile.token);
        const { run } = (await profiler.profiles.read(job.token))?.profile.panels.jobs?.data as JobsData;
        const places = [run?.worker, ...(run?.otherWorkers ?? [])];
        expect(new Set(places).size).to.equal(2);
        for (const place of places) expect(place).to.match(HERE);
        const page = load(await ask.page(urls.profile(job.token, 'jobs')));
        expect(page('#job').text()).to.contain('Another worker of this queue');
        const started = load(await ask.page(urls.profile(profile.token)))('#started').text();
        expect(started).to.match(
          /returned (?:null|\{ sent: true \}), no step, by the worker of test.*shares the queue with 1 other: test/,
        );
      } finally {
        await other.close();
      }
    });

    it('records how a job failed', async () => {
      const { profile } = await ask('/failing');
      const job = await jobOf(profile.token);
      expect(job.error).to.equal('TypeError: no such template');
      const page = load(await ask.page(urls.profile(job.token, 'exception')));
      expect(page.text()).to.contain('no such template').and.contain('jobs.test.ts');
    });

    describe('above the limit', () => {
      useRecordingLimit();

      it('records summaries of jobs: what they did is recorded nowhere else', async () => {
        const other = createProfiler({ warn: () => undefined, fullPerSecond: 0 });
        try {
          for (const name of ['confirm', 'fail']) await queue.add(name, { password: 'hunter22' });
          let rows: readonly ProfileIndex[] = [];
          await until(async () => {
            ({ rows } = await other.profiles.find({ kinds: ['job'], limit: 10, offset: 0 }));
            return rows.length === 2 && rows.every(({ state }) => state === 'final');
          }, 'both are stored');
          expect(rows.map(({ url, summary, error }) => [url, summary, error]).sort()).to.deep.equal([
            [`mails-${version}/confirm`, 'limit', null],
            [`mails-${version}/fail`, 'limit', 'TypeError: no such template'],
          ]);
          const found = await other.profiles.read(rows[0]?.token ?? '');
          expect(found?.profile.panels.jobs?.data).to.equal(null);
        } finally {
          await other.close();
        }
      });
    });

    it('lists jobs by themselves, and finds them by their text', async () => {
      const { profile } = await ask('/order');
      const { token } = await jobOf(profile.token);
      const list = load(await ask.page(urls.search({ kind: 'job' })));
      expect(list(`#r-${token} .c-me`).text().trim()).to.equal('JOB');
      expect(load(await ask.page(urls.search({})))(`#r-${token}`)).to.have.length(0);
      const found = load(await ask.page(urls.search({ kind: 'job', text: 'confirm' })));
      expect(found(`#r-${token}`)).to.have.length(1);
    });

    it('keeps requests that run at once apart', async () => {
      const asked = await Promise.all(Array.from({ length: 30 }, (_, id) => ask(`/many/${id}`)));
      asked.forEach(({ profile }, id) => {
        const { items: added } = profile.panels.jobs?.data as JobsData;
        expect(added.map(({ data }) => data)).to.deep.equal([{ id: String(id) }]);
      });
    });
  });
