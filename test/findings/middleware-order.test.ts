import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';

describe('finding middleware-order', () => {
  const ask = withFindingsApp((app) => {
    app.get('/before', (_req, res) => res.send('x'));
    app.use(function notFound(_req, res) {
      res.status(404).send('nothing here');
    });
    app.get('/orders/:id', (_req, res) => res.send('x'));
    app.get('/{*page}', (_req, res) => res.send('the page of a single-page application'));
    app.post('/posted', (_req, res) => res.send('x'));
  });

  it('names the middleware that answered, and the route registered after it', async () => {
    const [finding] = (await ask('/orders/7')).of('middleware-order');
    expect(finding).to.include({ label: 'middleware order', severity: 'warn', panel: 'routing' });
    expect(finding?.sentence).to.match(
      /^notFound answered 404 at step \d+; GET \/orders\/:id matches, but is registered after it$/,
    );
    expect(finding?.place).to.match(/^test\/findings\/middleware-order\.test\.ts:\d+$/);
  });

  it('reports nothing if no later route matches but one for every path, or an earlier one answered', async () => {
    for (const path of ['/nothing', '/posted', '/before'])
      expect((await ask(path)).of('middleware-order'), path).to.deep.equal([]);
  });
});
