import { expect } from 'chai';
import type { ErrorRequestHandler } from 'express';
import { urls } from '../../app/urls.ts';
import { inLibrary } from '../support/in-library.ts';
import { withFindingsApp } from '../support/findings-app.ts';

function readPrice(): never {
  throw new RangeError('no price');
}

describe('finding root-cause', () => {
  const ask = withFindingsApp((app) => {
    app.get('/wrapped', () => {
      try {
        readPrice();
      } catch (cause) {
        throw new Error('The order can not be shown', { cause });
      }
    });
    const levels = (count: number) => (): never => {
      let error = new Error('0');
      for (let level = 1; level < count; level++) error = new Error(String(level), { cause: error });
      throw error;
    };
    app.get('/deep', levels(15));
    app.get('/endless', levels(2000));
    app.get(
      '/library',
      inLibrary(`(_req, _res, next) => next(new Error('outer', { cause: new Error('inner') }))`),
    );
    app.get('/told', () => {
      throw new Error('no order', { cause: new RangeError('no price') });
    });
    app.use('/told', ((error: Error, _req, res, _next) => {
      res.status(500).send(error.message);
    }) satisfies ErrorRequestHandler);
    app.get('/plain', () => readPrice());
    app.get('/refused', () => {
      throw Object.assign(new Error('not here', { cause: new Error('why') }), { status: 404 });
    });
  });

  it('names the cause and its line in the application’s code', async () => {
    const [finding] = (await ask('/wrapped')).of('root-cause');
    expect(finding).to.include({
      severity: 'bad',
      sentence: 'RangeError: no price, thrown in readPrice, caused this Error (1 level down)',
      anchor: 'error-1',
    });
    expect(finding?.place).to.equal('test/findings/root-cause.test.ts:8');
  });

  it('shows the source of that line', async () => {
    const { profile } = await ask('/wrapped');
    const page = await ask.page(urls.profile(profile.token));
    expect(page.slice(page.indexOf('id="wrong"'))).to.match(/class="hot">[^<]*throw new RangeError/);
  });

  it('is the only finding of an error whose message the response says', async () => {
    const { of } = await ask('/told');
    expect([...of('root-cause'), ...of('error-thrown')]).to.have.length(1);
  });

  it('names the handler if no frame is of own code', async () => {
    const [finding] = (await ask('/library')).of('root-cause');
    expect(finding?.sentence).to.equal('Error: inner caused this Error (1 level down)');
    expect(finding?.place).to.match(/^test\/findings\/root-cause\.test\.ts:\d+$/);
  });

  it('finds the root of a long chain, and none in a chain without end', async () => {
    const [finding] = (await ask('/deep')).of('root-cause');
    expect(finding?.sentence).to.match(/^Error: 0.* caused this Error \(14 levels down\)$/);
    const endless = await ask('/endless');
    expect(endless.of('root-cause')).to.deep.equal([]);
    expect(endless.of('error-thrown')[0]?.sentence).to.equal('Thrown: Error: 1999');
  });

  it('ignores errors without a cause, and refusals', async () => {
    const plain = await ask('/plain');
    expect(plain.of('root-cause')).to.deep.equal([]);
    expect(plain.findings.map(({ label }) => label)).to.deep.equal(['exception']);
    expect((await ask('/refused')).of('root-cause')).to.deep.equal([]);
  });
});
