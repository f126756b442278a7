import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';
import { withUpstream } from '../support/upstream.ts';

describe('findings about the form of a response', () => {
  const bytes = Buffer.from([0x25, 0x50, 0x44, 0x46, 0xe2, 0xe3, 0xcf, 0xd3, 0xff, 0xfe]);
  const upstream = withUpstream((_req, res) => {
    res.setHeader('content-type', 'application/pdf').setHeader('content-length', bytes.length).end(bytes);
  });
  const ask = withFindingsApp((app) => {
    app.get('/label/:how', async (req, res) => {
      const got = await fetch(`${upstream()}/label.pdf`);
      res.type('application/pdf');
      res.send(req.params.how === 'text' ? await got.text() : Buffer.from(await got.arrayBuffer()));
    });
    app.get('/page/:name', (req, res) => {
      const [first = 'en'] = (req.get('accept-language') ?? 'en').split(/[;,]/, 1);
      res.set('Content-Language', first).send('page');
    });
  });

  it('name bytes that were read as text', async () => {
    const [finding] = (await ask('/label/text')).of('bytes-as-text');
    expect(finding?.sentence).to.match(
      / got 10 bytes of application\/pdf, and this response has \d\d, with charset=utf-8/,
    );
    expect(finding).to.include({ panel: 'http_client', anchor: 'c1' });
    expect((await ask('/label/bytes')).of('bytes-as-text')).to.deep.equal([]);
  });

  it('name a language that was only listed first, where the application has a better one', async () => {
    const page = async (path: string, language: string) =>
      (await ask(path, { headers: { 'accept-language': language } })).of('language-by-order');
    const wanted = 'en;q=0.3, fr;q=0.4, de;q=0.9';
    expect(await page('/page/a', wanted)).to.deep.equal([]);
    await page('/page/a', 'fr');
    const [finding] = await page('/page/a', wanted);
    expect(finding?.sentence).to.match(
      /^Content-Language is en \(q=0\.3\), .* but fr \(q=0\.4\) is wanted more/,
    );
    expect(await page('/page/a', 'en, fr;q=0.4')).to.deep.equal([]);
    expect(await page('/page/a?lang=en', wanted)).to.deep.equal([]);
  });
});
