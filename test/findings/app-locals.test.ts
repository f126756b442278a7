import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';

describe('finding app-locals', () => {
  const ask = withFindingsApp((app) => {
    app.locals.shop = 'Plants of the valley';
    app.use((req, _res, next) => {
      const { member } = req.query;
      if (member !== undefined) app.locals.member = { name: member };
      next();
    });
    app.get('/page', (_req, res) => {
      const { shop, member } = app.locals as { shop: string; member?: { name: string } };
      app.locals.opened ??= 'since this morning';
      res.type('html').send(`<p>${shop} ${member?.name ?? ''} ${String(app.locals.opened)}</p>`);
    });
  });

  it('names what another request put there, with the line that did', async () => {
    expect((await ask('/page')).of('app-locals')).to.deep.equal([]);
    const first = await ask('/page?member=Greta+Olsson');
    expect(first.of('app-locals')[0]).to.include({
      severity: 'warn',
      sentence: 'This request put member into app.locals: every other visitor sees it, too',
    });
    const [finding, ...others] = (await ask('/page')).of('app-locals');
    expect(finding?.sentence).to.equal(
      `The response shows member.name, which another request (${first.profile.token}) put into app.locals: all visitors share it`,
    );
    expect(finding?.place).to.match(/app-locals\.test\.ts:7$/);
    expect(others).to.deep.equal([]);
  });
});
