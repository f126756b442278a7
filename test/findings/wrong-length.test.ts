import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';

describe('finding wrong-length', () => {
  const text = 'Für Rückfragen';
  const ask = withFindingsApp((app) => {
    app.get('/characters', (_req, res) => {
      res.set('Content-Length', String(text.length)).set('connection', 'close').end(text);
    });
    app.get('/bytes', (_req, res) => res.send(text));
  });

  it('names both numbers', async () => {
    const [finding] = (await ask('/characters')).of('wrong-length');
    expect(finding).to.include({
      label: 'wrong length',
      sentence: 'Content-Length is 14, but the body has 16 bytes: clients cut it off or wait for the rest',
    });
    expect(finding?.place).to.match(/wrong-length\.test\.ts:\d+$/);
  });

  it('ignores the right length, and a response without a body', async () => {
    expect((await ask('/bytes')).of('wrong-length')).to.deep.equal([]);
    expect((await ask('/bytes', { method: 'HEAD' })).of('wrong-length')).to.deep.equal([]);
  });
});
