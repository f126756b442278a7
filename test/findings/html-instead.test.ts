import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';

describe('finding html-instead', () => {
  const ask = withFindingsApp((app) => {
    app.get('/assets/there.js', (_req, res) => res.type('js').send('1'));
    app.get('/assets/gone.js', (_req, res) => res.status(404).send('<p>Nothing</p>'));
    app.use(function spa(_req, res) {
      res.send('<!doctype html><title>Shop</title>');
    });
  });
  const of = async (path: string, destination?: string) =>
    (await ask(path, destination === undefined ? {} : { headers: { 'sec-fetch-dest': destination } })).of(
      'html-instead',
    );

  it('names what was wanted, and who sent the page', async () => {
    const [script] = await of('/assets/app-1.js?v=2', 'script');
    expect(script).to.include({
      label: 'HTML instead',
      broke: 'unseen',
      sentence: 'The browser wants a script, and spa sent a page of HTML with status 200: it can’t be used',
    });
    expect(script?.place).to.match(/html-instead\.test\.ts:8$/);
    expect((await of('/logo', 'image'))[0]?.sentence).to.contain('wants an image');
  });

  it('goes by the ending where the client does not say', async () => {
    expect((await of('/app.css'))[0]?.sentence).to.match(/^The address is that of a style sheet, and/);
    expect(await of('/app.css', 'document')).to.deep.equal([]);
  });

  it('ignores pages, what is there, what is a 404, and favicons', async () => {
    expect(await of('/cart', 'document')).to.deep.equal([]);
    expect(await of('/cart')).to.deep.equal([]);
    expect(await of('/assets/there.js', 'script')).to.deep.equal([]);
    expect(await of('/assets/gone.js', 'script')).to.deep.equal([]);
    expect(await of('/favicon.ico', 'image')).to.deep.equal([]);
  });
});
