import { expect } from 'chai';
import { createMemoryStorage } from '../../app/storage/memory-profile-storage.ts';
import { describeStorageContract, profileOf } from './contract.ts';

describe('storage in memory', () => {
  describeStorageContract({
    create: (onClash) => Promise.resolve(createMemoryStorage(onClash === undefined ? {} : { onClash })),
  });

  it('drops the oldest beyond its count', async () => {
    const storage = createMemoryStorage({ maxCount: 2 });
    await storage.write([1, 2, 3].map((number) => profileOf(number)));
    expect(await storage.read('000001')).to.equal(null);
    expect((await storage.find({ limit: 10, offset: 0 })).total).to.equal(2);
  });

  it('drops the oldest beyond its bytes, also after a profile grew', async () => {
    const storage = createMemoryStorage({ maxBytes: 3000 });
    await storage.write([profileOf(1, { state: 'running' }), profileOf(2, { state: 'running' })]);
    await storage.write([profileOf(2, {}, 'y'.repeat(2960))]);
    expect(await storage.read('000001')).to.equal(null);
    expect(await storage.read('000002')).to.not.equal(null);
  });
});
