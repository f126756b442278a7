import { expect } from 'chai';
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
    expect(finding?.place).to.equal('test/findings/root-cause.test.ts:5');
  });

  it('ignores errors without a cause, and refusals', async () => {
    const plain = await ask('/plain');
    expect(plain.of('root-cause')).to.deep.equal([]);
    expect(plain.findings.map(({ label }) => label)).to.deep.equal(['exception']);
    expect((await ask('/refused')).of('root-cause')).to.deep.equal([]);
  });
});
