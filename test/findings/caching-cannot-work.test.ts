import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';

describe('finding caching-cannot-work', () => {
  const ask = withFindingsApp((app) => {
    app.set('etag', false);
    const answer = (path: string, headers: Record<string, string>, body = 'x'): void => {
      app.get(path, (_req, res) => {
        for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
        res.end(body);
      });
    };
    answer('/both', { 'Cache-Control': 'no-store, max-age=60' });
    answer('/cookie', { 'Cache-Control': 'public, max-age=60', 'Set-Cookie': 'sid=1' });
    answer('/star', { 'Cache-Control': 'max-age=60', Vary: '*' });
    answer('/packed', { 'Cache-Control': 'public, max-age=60', 'Content-Encoding': 'br' });
    answer('/plain', { 'Cache-Control': 'public, max-age=60', 'Content-Encoding': 'identity' });
    answer('/again', { ETag: 'W/"7"' }, 'whole');
    answer('/private', { 'Cache-Control': 'private, max-age=60', 'Set-Cookie': 'sid=1', Vary: 'Accept' });
    answer('/never', { 'Cache-Control': 'no-store', 'Set-Cookie': 'sid=1', ETag: '"1"' });
    answer('/good', { 'Cache-Control': 'public, max-age=60', Vary: 'Accept-Encoding', ETag: '"1"' });
  });

  for (const [path, sentence, severity] of [
    ['/both', 'Cache-Control combines no-store with a lifetime of 60 seconds: nothing is cached', 'warn'],
    [
      '/cookie',
      'Shared caches may store this response with the 1 cookie it sets, and send them to other visitors',
      'warn',
    ],
    ['/star', 'Vary: * prevents any reuse: the 60 seconds in Cache-Control have no effect', 'warn'],
    [
      '/packed',
      'Shared caches may send this compressed response for 60 seconds to clients that can’t decode it: Vary lacks Accept-Encoding',
      'warn',
    ],
  ] as const)
    // prettier-ignore
    it(`says what contradicts what: ${path}`, async () => {
      const found = (await ask(path)).of('caching-cannot-work');
      expect(found.map((finding) => [finding.sentence, finding.severity])).to.deep.equal([[sentence, severity]]);
    });

  for (const [path, line] of [
    ['/both', 'Cache-Control: no-store'],
    ['/cookie', 'Cache-Control: private, max-age=60'],
    ['/packed', 'Vary: Accept-Encoding'],
    ['/star', null],
  ] as const)
    it(`offers the header as it should be: ${path}`, async () => {
      const { profile } = await ask(path);
      const markdown = await ask.page(`/_profiler/${profile.token}.md`);
      const [, found = null] = /```http\n([^]*?)\n```\n\nAssumes/.exec(markdown) ?? [];
      expect(found).to.equal(line);
    });

  it('reports a full response to a client that already had it', async () => {
    const [finding] = (
      await ask('/again', { headers: { 'if-none-match': '"6", W/"7"', 'cache-control': 'max-age=0' } })
    ).of('caching-cannot-work');
    expect(finding?.sentence).to.equal(
      'The client already had this ETag, but received all 5 B again instead of a 304',
    );
    for (const headers of [
      { 'if-none-match': '"8"', 'cache-control': 'max-age=0' },
      { 'if-none-match': 'W/"7"', 'cache-control': 'no-cache' },
    ])
      expect((await ask('/again', { headers })).of('caching-cannot-work')).to.deep.equal([]);
  });

  it('reports what everybody may store of a request with credentials', async () => {
    const found = (await ask('/good', { headers: { authorization: 'Bearer x' } })).of('caching-cannot-work');
    expect(found.map(({ sentence }) => sentence)).to.deep.equal([
      'Shared caches may store this response, although the request carried credentials (Authorization), and send it to other visitors',
    ]);
    expect(found[0]?.place).to.match(/caching-cannot-work\.test\.ts:\d+$/);
  });

  it('ignores headers that agree', async () => {
    for (const path of ['/private', '/never', '/good', '/plain'])
      expect((await ask(path)).of('caching-cannot-work'), path).to.deep.equal([]);
  });
});
