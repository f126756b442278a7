/** Compression of pages and assets, read from the wire: `fetch` would decompress it unseen. */
import { expect } from 'chai';
import { request, type IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { isCompressedFor } from '../../../app/controllers/profiler/respond.ts';
import { openWorld, type PageWorld } from '../../support/every-page.ts';

interface Answer {
  status: number | undefined;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

describe('compression of pages', () => {
  let world: PageWorld;

  before(async () => {
    world = await openWorld('word');
  });
  after(() => world.close());

  const ask = (path: string, headers: Record<string, string>, method = 'GET'): Promise<Answer> =>
    new Promise((resolve, reject) => {
      request(`${world.server.address}${path}`, { method, headers, agent: false }, (response) => {
        buffer(response).then((body) => {
          resolve({ status: response.statusCode, headers: response.headers, body });
        }, reject);
      })
        .on('error', reject)
        .end();
    });

  it('is that of a client that takes gzip, and the page is the same', async () => {
    for (const path of [`/_profiler/${world.token}`, '/_profiler/search', `/_profiler/${world.token}.json`]) {
      const plain = await ask(path, {});
      const small = await ask(path, { 'accept-encoding': 'br, gzip;q=0.8' });
      expect(plain.headers, path).to.not.have.property('content-encoding');
      expect(small.headers['content-encoding'], path).to.equal('gzip');
      expect(small.body.length, path).to.be.below(plain.body.length / 2);
      expect(small.headers['content-length'], path).to.equal(String(small.body.length));
      expect(gunzipSync(small.body).length, path).to.be.closeTo(plain.body.length, 20);
      for (const { headers } of [plain, small]) expect(headers.vary, path).to.match(/\baccept-encoding\b/);
    }
  });

  it('keeps length and revalidation: HEAD says what GET would, and its tag is known again', async () => {
    const headers = { 'accept-encoding': 'gzip' };
    const page = (await ask(`/_profiler/${world.token}`, {})).body.toString();
    const sheet = /href="([^"]+\.css)"/.exec(page)?.[1] ?? '';
    const [get, head] = [await ask(sheet, headers), await ask(sheet, headers, 'HEAD')];
    expect(get.headers.etag).to.match(/^W\/"/);
    for (const name of ['content-length', 'content-encoding', 'etag'])
      expect(head.headers[name], name).to.equal(get.headers[name]);
    expect(head.body.length).to.equal(0);
    const again = await ask(sheet, { ...headers, 'if-none-match': get.headers.etag ?? '' });
    expect([again.status, again.headers['content-encoding']]).to.deep.equal([304, undefined]);
  });

  it('is never that of a request of another site, whose page could be guessed by its length', async () => {
    const headers = { 'accept-encoding': 'gzip', 'sec-fetch-site': 'cross-site' };
    const answer = await ask(`/_profiler/${world.token}`, headers);
    expect(answer.headers).to.not.have.property('content-encoding');
  });

  for (const [header, takes] of [
    ['gzip', true],
    ['GZIP ; q=1.0', true],
    ['deflate,gzip', true],
    ['gzip;q=0', false],
    ['gzip; q=0.000', false],
    ['gzip;q=0.001', true],
    ['identity', false],
    ['xgzip', false],
    ['', false],
  ] as const)
    it(`reads Accept-Encoding: ${header}`, () => {
      expect(isCompressedFor({ headers: { 'accept-encoding': header } }, 5000)).to.equal(takes);
      expect(isCompressedFor({ headers: { 'accept-encoding': header } }, 500)).to.equal(false);
    });
});
