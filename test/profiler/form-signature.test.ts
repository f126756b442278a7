import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { createFormSigner } from '../../app/profiler/form-signature.ts';

const MINUTE = 60_000;

describe('the signature of a form', () => {
  it('holds for an hour', async () => {
    let now = 1_700_000_000_000;
    const signer = createFormSigner({ now: () => now });
    const value = await signer.sign();
    expect(await signer.holds(value)).to.equal(true);
    now += 59 * MINUTE;
    expect(await signer.holds(value)).to.equal(true);
    now += 2 * MINUTE;
    expect(await signer.holds(value)).to.equal(false);
  });

  it('is the same for the pages of a minute', async () => {
    let now = 1_700_000_000_000;
    const signer = createFormSigner({ now: () => now });
    const value = await signer.sign();
    now += MINUTE - 1;
    expect(await signer.sign()).to.equal(value);
    now += 1;
    expect(await signer.sign()).to.not.equal(value);
    now -= MINUTE;
    expect(await signer.sign(), 'set back').to.equal(value);
  });

  it('holds in another process of the same storage, and in none of another', async () => {
    const key = randomBytes(32);
    const sharedKey = (): Promise<Buffer> => Promise.resolve(key);
    const value = await createFormSigner({ sharedKey }).sign();
    expect(await createFormSigner({ sharedKey }).holds(value)).to.equal(true);
    expect(
      await createFormSigner({ sharedKey: () => Promise.resolve(randomBytes(32)) }).holds(value),
    ).to.equal(false);
    expect(await createFormSigner({}).holds(value)).to.equal(false);
  });

  it('holds in its own process while the storage fails, and after it has come', async () => {
    const key = randomBytes(32);
    let comes = false;
    const signer = createFormSigner({
      sharedKey: () => (comes ? Promise.resolve(key) : Promise.reject(new Error('no database'))),
    });
    const value = await signer.sign();
    comes = true;
    expect(await signer.holds(value)).to.equal(true);
  });

  it('is made in time where the storage says nothing', async () => {
    const signer = createFormSigner({ sharedKey: () => new Promise(() => undefined) });
    expect(await signer.sign()).to.match(/^[0-9a-z]{8,9}\.[A-Za-z0-9_-]{43}$/);
  });

  it('holds for nothing else', async () => {
    const signer = createFormSigner({});
    const value = await signer.sign();
    const [moment = '', signature = ''] = value.split('.');
    const later = (parseInt(moment, 36) + 1).toString(36);
    for (const other of [
      '',
      '.',
      moment,
      `${later}.${signature}`,
      `${value}x`,
      `${value}\n`,
      `0.${signature}`,
      signature,
    ])
      expect(await signer.holds(other), other).to.equal(false);
  });
});
