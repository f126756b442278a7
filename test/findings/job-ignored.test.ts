import * as bullmq from 'bullmq';
import { expect } from 'chai';
import type { Json } from '../../app/profiler/json.ts';
import { bullmqPatch } from '../../app/observe/channels/bullmq.ts';
import { urls } from '../../app/urls.ts';
import { withFindingsApp } from '../support/findings-app.ts';
import { type AskedQuery, keptQueries, keptRequest } from '../support/kept-queries.ts';
import { withRedis } from '../support/redis.ts';
import { draftsOf } from '../support/find-by-rule.ts';

describe('finding job-ignored', () => {
  const path = withRedis();
  let undo: (() => void) | null;
  let queue: bullmq.Queue;
  let made = 0;
  const ask = withFindingsApp((app) => {
    app.post('/:kind/:id', async (req, res) => {
      const { kind, id } = req.params;
      made++;
      const removeOnComplete =
        { removed: true, few: 3, aged: { age: 60, count: 1000 }, many: 1000 }[kind] ?? false;
      const jobId = /^(?:by-customer|removed|few|aged|many)$/.test(kind)
        ? `${kind}-${id}`
        : `${kind}-${made}`;
      const invoice = kind === 'same' ? 1 : made;
      if (kind === 'no-id') await queue.add('invoice', { invoice });
      else
        await queue.add(
          'invoice',
          { invoice },
          { jobId: kind === 'same' ? 'same' : jobId, removeOnComplete },
        );
      res.send('added');
    });
  });
  before(() => {
    undo = bullmqPatch.patch(bullmq);
    queue = new bullmq.Queue('invoices', { connection: { path: path(), maxRetriesPerRequest: null } });
  });
  after(async () => {
    await queue?.obliterate({ force: true });
    await queue?.close();
    undo?.();
  });
  const post = async (address: string) => await ask(address, { method: 'POST' });

  it('names a job whose id another one has, and shows the id among the steps', async () => {
    // Of its own for a second try, which would find the job of the first.
    const id = made + 7;
    const first = await post(`/by-customer/${id}`);
    await post(`/by-customer/${id}`);
    const { of, profile } = await post(`/by-customer/${id}`);
    const stored = (await queue.getJob(`by-customer-${id}`)) as bullmq.Job<{ invoice: number }> | undefined;
    expect(stored?.data.invoice, 'BullMQ did ignore it').to.be.below(made);
    const [finding] = of('job-ignored');
    expect(finding?.sentence).to.equal(
      `The job invoices/invoice has the id by-customer-${id} of one that POST /:kind/:id (${first.profile.token}) had added, but other data (invoice ${made}, not ${made - 2}): as long as that one is stored, waiting or done, BullMQ does not add this one`,
    );
    expect(finding).to.include({ panel: 'jobs', anchor: 'j1', severity: 'bad' });
    expect(finding?.place).to.match(/job-ignored\.test\.ts:28$/);
    expect(await ask.page(urls.profileMarkdown(profile.token))).to.contain(`own id by-customer-${id}`);
  });

  it('names it, too, where many done jobs are stored', async () => {
    await post('/many/7');
    expect((await post('/many/7')).of('job-ignored')).to.have.length(1);
  });

  it('notes it where both have the same data', async () => {
    const first = await post('/same/7');
    const [finding] = (await post('/same/7')).of('job-ignored');
    expect(finding).to.include({
      severity: 'info',
      sentence: `The job invoices/invoice has the id same of one that POST /:kind/:id (${first.profile.token}) had added: as long as that one is stored, waiting or done, BullMQ does not add this one`,
    });
  });

  it('ignores ids of their own, and jobs that are removed', async () => {
    for (const kind of ['no-id', 'own', 'removed', 'few', 'aged']) {
      await post(`/${kind}/7`);
      expect((await post(`/${kind}/7`)).of('job-ignored'), kind).to.deep.equal([]);
    }
  });
});

describe('finding job-ignored, of one whose work is done', () => {
  const write = { sql: 'insert into charges (cents) values ($1)', bindings: { cents: 5 } };
  const of = ({
    doneIn = 'a341ba',
    data = {},
    query = write,
    command = 'GET',
    body = { cents: 5 },
    method = 'POST',
    isFirst = false,
  }: {
    doneIn?: string;
    data?: Json;
    query?: AskedQuery;
    command?: string;
    body?: { cents: number };
    method?: string;
    isFirst?: boolean;
  } = {}) => {
    const kept = (cents: { cents: number }, done = '', data: Json = {}) => ({
      request: keptRequest({ body: cents }),
      database: keptQueries(query),
      cache: { items: [{ command, error: null, startMs: 1, durationMs: 1 }] },
      jobs: {
        items: [
          {
            queue: 'totals', name: 'build', id: 't-1', data, error: null, startMs: 5, durationMs: 1, caller: 'src/queue.ts:14',
            ownId: { isRemovedLater: false, ...(done === '' ? {} : { doneIn: done }) },
          },
        ],
      },
    }); // prettier-ignore
    const earlier = [
      {
        head: { token: 'b00001', method: 'POST', url: '/charges' },
        kept: kept({ cents: 4 }, '', { shade: 'A2', piece: 'crown', revision: 1 }),
      },
    ];
    return draftsOf('job-ignored', kept(body, doneIn, data), { method }, { earlier: isFirst ? [] : earlier });
  };

  it('is a failure if the request wrote something new for it', () => {
    expect(of()[0]).to.include({
      severity: 'bad',
      broke: 'unseen',
      place: 'src/queue.ts:14',
      sentence:
        'The job totals/build has the id t-1 of one that is done (a341ba) and still stored: BullMQ ignored it, and no job runs for what this request had written',
    });
  });

  it('is none if the same came again, nothing was written, or it still waits', () => {
    const severities = (...given: Parameters<typeof of>) => of(...given).map(({ severity }) => severity);
    expect(severities({ body: { cents: 4 } }), 'delivered again').to.deep.equal(['info']);
    expect(severities({ query: { sql: 'select 1 from charges' } }), 'only read').to.deep.equal(['info']);
    expect(severities({ query: { ...write, rows: 0 } }), 'added no row').to.deep.equal(['info']);
    const read = { sql: 'select 1 from charges' };
    expect(severities({ query: read, command: 'HSET' }), 'written to Redis').to.deep.equal(['bad']);
    expect(severities({ doneIn: '' }), 'not done').to.deep.equal(['info']);
  });

  it('names the fields that differ from those of the job that is stored', () => {
    const data = { shade: 'B1', piece: 'crown', revision: 2 };
    const [finding] = of({ query: { sql: 'select 1 from charges' }, data });
    expect(finding?.sentence).to.equal(
      'The job totals/build has the id t-1 of one that POST /charges (b00001) had added, but other data (shade B1, not A2; revision 2, not 1): that one is done and still stored, so BullMQ did not add this one, and no job runs for it',
    );
  });

  it('is named, too, if another route added that one, or it is not known who did', () => {
    const query = { sql: 'select 1 from charges' };
    const [put] = of({ isFirst: true, query, method: 'PUT' });
    expect(put).to.include({
      severity: 'warn',
      sentence:
        'The job totals/build has the id t-1 of one that is done (a341ba) and still stored: BullMQ ignored it, and no job runs for this request',
    });
    expect(of({ isFirst: true, query })[0]?.severity).to.equal('info');
  });
});
