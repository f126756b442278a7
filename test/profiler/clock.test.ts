import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';

describe('the clock of an application', () => {
  const { now } = Date;
  const ask = withFindingsApp((app) => {
    app.get('/x', (_req, res) => {
      res.json({});
    });
    app.get('/restored', (_req, res) => {
      Date.now = now;
      res.json({});
    });
  });

  it('opens the tokens of requests during and after a mock of Date.now that returns nothing', async () => {
    Date.now = () => undefined as unknown as number;
    try {
      const { profile } = await ask('/x');
      expect(Math.abs(profile.startedAt - now())).to.be.below(3_600_000);
    } finally {
      Date.now = now;
    }
    expect((await ask('/x')).profile.url).to.equal('/x');
  });

  it('serves and records requests during a mock of Date.now that throws', async () => {
    Date.now = () => {
      throw new Error('not in this test');
    };
    const { status, profile } = await ask('/restored');
    expect(status).to.equal(200);
    expect(Math.abs(profile.startedAt - now())).to.be.below(3_600_000);
  });
});
