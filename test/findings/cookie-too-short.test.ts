import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';

const MONTH_S = 30 * 24 * 60 * 60;

describe('finding cookie-too-short', () => {
  const ask = withFindingsApp((app) => {
    app.get('/basket', (_req, res) => {
      res.cookie('basket', 'b1', { maxAge: MONTH_S });
      res.send('kept');
    });
    app.get('/healthy', (_req, res) => {
      res.cookie('basket', 'b1', { maxAge: MONTH_S * 1000 });
      res.cookie('flash', 'saved', { maxAge: 3000 });
      res.cookie('step', '2', { maxAge: 600_000 });
      res.cookie('plain', '1');
      res.clearCookie('old');
      res.send('kept');
    });
  });

  it('names the line that gave seconds', async () => {
    const [finding] = (await ask('/basket')).of('cookie-too-short');
    expect(finding).to.include({
      label: 'cookie too short',
      severity: 'bad',
      sentence:
        'The cookie “basket” lives for 43 min 12 s (Max-Age=2592), a thousandth of 30 days: its maxAge seems to have been given in seconds',
    });
    expect(finding?.place).to.match(/cookie-too-short\.test\.ts:9$/);
  });

  it('ignores lifetimes in milliseconds, messages, and cookies without one', async () => {
    expect((await ask('/healthy')).of('cookie-too-short')).to.deep.equal([]);
  });
});
