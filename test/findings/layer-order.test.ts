import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';

describe('finding layer-order', () => {
  const ask = withFindingsApp((app) => {
    app.get('/before', (_req, res) => res.send('x'));
    app.use(function notFound(_req, res) {
      res.status(404).send('nothing here');
    });
    app.get('/orders/:id', (_req, res) => res.send('x'));
    app.post('/posted', (_req, res) => res.send('x'));
  });

  it('names the middleware that answered, and the route behind it', async () => {
    const [finding] = (await ask('/orders/7')).of('layer-order');
    expect(finding).to.include({ label: 'order', severity: 'warn', panel: 'routing' });
    expect(finding?.sentence).to.match(
      /^notFound answered 404 as layer \d+; GET \/orders\/:id, which matches, stands behind it$/,
    );
    expect(finding?.place).to.match(/^test\/findings\/layer-order\.test\.ts:\d+$/);
  });

  it('says nothing where no route behind it has the path or the method, or one before it answered', async () => {
    for (const path of ['/nothing', '/posted', '/before'])
      expect((await ask(path)).of('layer-order'), path).to.deep.equal([]);
  });
});
