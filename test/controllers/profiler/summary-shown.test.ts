/** The page of a request of which only a summary was recorded, and the list that counts it, without script. */
import { expect } from 'chai';
import { load } from 'cheerio';
import express from 'express';
import request from 'supertest';
import { createProfiler, type Profiler } from '../../../app/index.ts';
import { until } from '../../support/waiting.ts';
import { useRecordingLimit } from '../../support/recording-limit.ts';

describe('the page of a summary', () => {
  useRecordingLimit();
  let profiler: Profiler;
  let app: express.Express;

  beforeEach(() => {
    profiler = createProfiler({ warn: () => undefined, fullPerSecond: 1, toolbar: false });
    app = express();
    profiler.attach(app);
    app.get('/orders/:id', (_req, res) => res.send('order'));
  });
  afterEach(() => profiler.close());

  const tokenOf = async (path: string): Promise<string> =>
    (await request(app).get(path).expect(200)).get('x-debug-token') ?? '';
  const summaryOf = async (token: string): Promise<unknown> =>
    (await profiler.profiles.read(token))?.profile.summary;

  const post = () =>
    request(app)
      .post('/_profiler/-/full')
      .set({ host: 'localhost', origin: 'http://localhost' })
      .type('form');

  /** Asks until only a summary is recorded. */
  async function exhaust(): Promise<{ full: string; summary: string }> {
    let full = '';
    for (;;) {
      const token = await tokenOf('/orders/1');
      if ((await summaryOf(token)) !== null) return { full, summary: token };
      full = token;
    }
  }

  const page = async (path: string) => load((await request(app).get(path).expect(200)).text);

  it('says how many of its second are recorded in full, and so does the list', async () => {
    const { full, summary } = await exhaust();
    const $ = await page(`/_profiler/${summary}?panel=overview`);
    const text = $('main').text().replace(/\s+/g, ' ');
    expect(text).to.match(/In that second this process received \d+ requests?: \d in full, 1 summary\./);
    const listed = await page($('main a[href*="from="]').attr('href') ?? '');
    expect(listed(`#r-${summary}`)).to.have.length(1);
    const list = await page('/_profiler/');
    expect(list('#histogram').text()).to.match(/\d requests: \d in full \(dark\), 1 summary\./);
    expect((await page(`/_profiler/${full}?panel=overview`))('form[action$="/full"]')).to.have.length(0);
  });

  it('says so on each panel and in Markdown', async () => {
    const { summary } = await exhaust();
    for (const panel of ['request', 'database', 'exception', 'timeline', 'logs'])
      expect((await page(`/_profiler/${summary}?panel=${panel}`))('main .empty').text()).to.include(
        'Only a summary of this request was recorded.',
      );
    await request(app).get(`/_profiler/${summary}?panel=none`).expect(404);
    const { text } = await request(app).get(`/_profiler/${summary}.md`).expect(200);
    expect(text).to.include('only a summary of this one was recorded');
  });

  it('says the same once it is stored, and its row is all there is', async () => {
    app.get('/broken/:id', () => {
      throw new TypeError('no such thing: 7');
    });
    await exhaust();
    const response = await request(app).get('/broken/7?token=secret').expect(500);
    const token = response.get('x-debug-token') ?? '';
    const read = async () => (await profiler.profiles.read(token)) ?? expect.fail('there is none');
    const { source, profile: first } = await read();
    expect(source).to.equal('running');
    await until(async () => (await read()).source === 'stored', 'it is stored');
    const { profile: then } = await read();
    expect(then.error).to.deep.equal({ name: 'TypeError', message: 'no such thing: 7' });
    expect(then.url).to.match(/^\/broken\/7\?token=(?!secret)/);
    for (const name of ['status', 'route', 'durationMs', 'clientAddress', 'error', 'url', 'panels'] as const)
      expect(then[name], name).to.deep.equal(first[name]);
  });

  it('has a form that records its route in full for a minute, up to the limit once more', async () => {
    const { summary } = await exhaust();
    const address = `/_profiler/${summary}?panel=overview`;
    const form = (await page(address))('form[action$="/full"]');
    const fields = Object.fromEntries(
      form
        .find('input')
        .get()
        .map(({ attribs }): [string, string] => [attribs.name ?? '', attribs.value ?? '']),
    );
    await request(app).get('/_profiler/-/full').expect(405);
    await post()
      .send({ ...fields, csrf: 'x' })
      .expect(403);
    const done = await post().send(fields).expect(303);
    expect(done.get('location')).to.equal(address);
    expect((await page(address))('main').text()).to.match(/GET \/orders\/:id are recorded in full until/);
    const reasons: unknown[] = [];
    for (let id = 0; id < 5; id++) reasons.push(await summaryOf(await tokenOf(`/orders/${id}`)));
    expect(reasons).to.deep.equal([null, null, null, null, null]);
    await exhaust();
  });
});
