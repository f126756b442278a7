import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';
import { withQuietConsole } from '../support/quiet-console.ts';

describe('finding log-flood', () => {
  withQuietConsole();
  const ask = withFindingsApp((app) => {
    app.get('/lines/:count', (req, res) => {
      console.debug('first');
      for (let line = 1; line < Number(req.params.count); line++) console.debug(`item ${line}`);
      res.send('logged');
    });
  });

  it('tells how many, and the line that wrote most of them', async () => {
    const [finding] = (await ask('/lines/260')).of('log-flood');
    expect(finding).to.include({ label: 'flood of logs', severity: 'info', panel: 'logs', anchor: 'l2' });
    expect(finding?.sentence).to.equal('260 lines were logged by one request, 259 of them by one line');
    expect(finding?.place).to.match(/log-flood\.test\.ts:\d+$/);
  });

  it('says nothing of fewer', async () => {
    const { of, profile } = await ask('/lines/199');
    expect(profile.panels.logs?.summary?.count).to.equal(199);
    expect(of('log-flood')).to.deep.equal([]);
  });
});
