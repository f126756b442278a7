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

  it('names the cause and the line in own code where it began', async () => {
    const [finding] = (await ask('/wrapped')).of('root-cause');
    expect(finding).to.include({
      severity: 'bad',
      sentence: 'Error began with RangeError in readPrice, 1 cause below it',
      anchor: 'error-1',
    });
    expect(finding?.place).to.equal('test/findings/root-cause.test.ts:5');
  });

  it('says nothing of an error without a cause, which its panel tells of, nor of a refusal', async () => {
    const plain = await ask('/plain');
    expect(plain.of('root-cause')).to.deep.equal([]);
    expect(plain.findings.map(({ label }) => label)).to.deep.equal(['exception']);
    expect((await ask('/refused')).of('root-cause')).to.deep.equal([]);
  });
});
