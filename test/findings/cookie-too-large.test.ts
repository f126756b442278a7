import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';

describe('finding cookie-too-large', () => {
  const ask = withFindingsApp((app) => {
    app.get('/seen/:length', (req, res) => {
      res
        .cookie('theme', 'dark')
        .cookie('seen', 'x'.repeat(Number(req.params.length)), { path: '/' })
        .end();
    });
  });

  it('names the cookie, its length and its line, and stores no value', async () => {
    const { of, profile } = await ask('/seen/4100');
    const [finding, ...others] = of('cookie-too-large');
    expect(others).to.deep.equal([]);
    expect(finding).to.include({
      broke: 'unseen',
      severity: 'bad',
      sentence: 'The cookie “seen” has 4,104 bytes: browsers ignore one with more than 4,096',
    });
    expect(finding?.place).to.match(/cookie-too-large\.test\.ts:\d+$/);
    expect(JSON.stringify(profile)).not.to.contain('xxxx');
    const again = await ask('/seen/4100', { headers: { cookie: 'seen=1' } });
    expect(again.of('cookie-too-large')[0]?.sentence).to.contain('4,096, and keep the one they have');
  });

  it('ignores one that is as large as it may be', async () => {
    expect((await ask('/seen/4092')).of('cookie-too-large')).to.deep.equal([]);
  });
});
