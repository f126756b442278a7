import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';
import { withQuietConsole } from '../support/quiet-console.ts';

describe('finding too-many-logs', () => {
  withQuietConsole();
  const ask = withFindingsApp((app) => {
    app.get('/lines/:count', (req, res) => {
      console.debug('first');
      for (let line = 1; line < Number(req.params.count); line++) console.debug(`item ${line}`);
      res.send('logged');
    });
  });

  it('says how many lines there were, and which line of code wrote most of them', async () => {
    const [finding] = (await ask('/lines/260')).of('too-many-logs');
    expect(finding).to.include({ label: 'too many logs', severity: 'info', panel: 'logs', anchor: 'l2' });
    expect(finding?.sentence).to.equal('This request logged 260 lines, 259 of them from one line of code');
    expect(finding?.place).to.match(/too-many-logs\.test\.ts:\d+$/);
  });

  it('ignores fewer', async () => {
    const { of, profile } = await ask('/lines/199');
    expect(profile.panels.logs?.summary?.count).to.equal(199);
    expect(of('too-many-logs')).to.deep.equal([]);
  });
});
