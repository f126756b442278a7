import { expect } from 'chai';
import { type Asked, withFindingsApp } from '../support/findings-app.ts';

describe('finding etag-of-several', () => {
  let version = 1;
  const ask = withFindingsApp((app) => {
    app.use((req, res, next) => {
      res.set('Content-Language', String(req.acceptsLanguages('de', 'fr')));
      next();
    });
    app.get(['/page', '/whole/page', '/data'], (req, res) => {
      const language = String(req.acceptsLanguages('de', 'fr'));
      const part = req.path.startsWith('/whole') ? `-${language}` : '';
      res.set('ETag', `W/"s12-v${version}${part}"`);
      if (req.fresh) res.status(304).end();
      else if (req.path === '/data') res.json({ id: 12, height: 340 });
      else res.send(`<!doctype html><h1>${language === 'de' ? 'Tropenhaus' : 'Serre tropicale'}</h1>`);
    });
    app.get('/generated', (req, res) => res.send(`<h1>${req.acceptsLanguages('de', 'fr')}</h1>`));
  });

  const asked = (path: string, language: string, tag?: string): Promise<Asked> =>
    ask(path, {
      headers: {
        'accept-language': language,
        ...(tag !== undefined && { 'if-none-match': tag, 'cache-control': 'max-age=0' }),
      },
    });

  async function revalidated(path: string): Promise<Asked> {
    version++;
    await asked(path, 'de');
    return asked(path, 'fr', `W/"s12-v${version}"`);
  }

  it('names the copy that a 304 confirms in another language', async () => {
    const { status, of } = await revalidated('/page');
    expect(status).to.equal(304);
    const [finding] = of('etag-of-several');
    expect(finding?.sentence).to.match(
      /^304 confirms the copy of GET \/page \([0-9a-f]{6}\), which was sent with content-language de; this one has fr, chosen by accept-language: the ETag doesn’t depend on it$/,
    );
    expect(finding).to.include({ severity: 'bad', broke: 'response' });
    expect(finding?.place).to.match(/etag-of-several\.test\.ts:\d+$/);
  });

  it('names the response that has the same ETag with another text', async () => {
    version++;
    await asked('/page', 'de');
    const { of } = await asked('/page', 'fr');
    expect(of('etag-of-several')[0]?.sentence).to.match(/^The response has the ETag of GET \/page /);
    // This client may have the copy in its own language.
    const again = await asked('/page', 'fr', `W/"s12-v${version}"`);
    expect(again.of('etag-of-several')).to.deep.equal([]);
  });

  it('ignores a tag with the language, one of the text, and data without a text', async () => {
    for (const path of ['/whole/page', '/generated']) {
      await asked(path, 'de');
      expect((await asked(path, 'fr')).of('etag-of-several'), path).to.deep.equal([]);
    }
    const { status, of } = await revalidated('/data');
    expect(status).to.equal(304);
    expect(of('etag-of-several')).to.deep.equal([]);
  });
});
