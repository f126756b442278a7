import { expect } from 'chai';
import { createMemoryStorage } from '../../app/storage/memory-profile-storage.ts';
import { describeStorageContract, profileOf } from './contract.ts';

describe('storage in memory', () => {
  describeStorageContract({ create: (onClash) => Promise.resolve(createMemoryStorage({ onClash })) });

  it('drops the oldest beyond its count', async () => {
    const storage = createMemoryStorage({ maxCount: 2 });
    await storage.write([1, 2, 3].map((number) => profileOf(number)));
    expect(await storage.read('000001')).to.equal(null);
    expect((await storage.find({ limit: 10, offset: 0 })).total).to.equal(2);
  });

  it('drops the oldest beyond its bytes, also after a profile grew', async () => {
    const storage = createMemoryStorage({ maxBytes: 6000 });
    await storage.write([profileOf(1, { state: 'running' }), profileOf(2, { state: 'running' })]);
    await storage.write([profileOf(2, {}, 'y'.repeat(2960))]);
    expect(await storage.read('000001')).to.equal(null);
    expect(await storage.read('000002')).to.not.equal(null);
  });

  it('stays within its bytes though pinned profiles outlive their neighbours', async () => {
    const maxBytes = 4 * 1024 * 1024;
    const storage = createMemoryStorage({ maxBytes });
    const { bytes } = profileOf(0, {}, 'x'.repeat(10_000));
    const before = process.memoryUsage().arrayBuffers;
    for (let number = 0; number < 2000; number++) {
      await storage.write([{ ...profileOf(number), bytes }]);
      if (number % 20 === 0) await storage.amend(profileOf(number).index.token, 'pin', true);
    }
    expect(await storage.read('000000')).to.not.equal(null);
    expect(process.memoryUsage().arrayBuffers - before).to.be.below(2 * maxBytes);
    expect((await storage.find({ pinned: true, limit: 1, offset: 0 })).total).to.equal(100);
  });
});
