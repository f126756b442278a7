import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProfileIndex } from '../../app/profiler/profile.ts';
import type { ProfileStorage, QueuedProfile, SharedPart, StoredProfile } from '../../app/profiler/storage.ts';
import { createWriter } from '../../app/profiler/writer.ts';

function profile(token: string, options: { kind?: ProfileIndex['kind']; size?: number } = {}): StoredProfile {
  const { kind = 'request', size = 100 } = options;
  return { index: { token, kind, url: '/' } as ProfileIndex, document: 'x'.repeat(size) };
}

/** A storage whose writes can be held, failed and counted. */
function heldStorage() {
  const written: string[] = [];
  const documents = new Map<string, string>();
  const kept: string[] = [];
  const state = { failing: false, gate: Promise.resolve() };
  const storage = {
    name: 'memory',
    write: async (batch: readonly QueuedProfile[]) => {
      await state.gate;
      if (state.failing) throw new Error('no database');
      written.push(...batch.map(({ index }) => index.token));
      for (const { index, bytes } of batch) documents.set(index.token, Buffer.from(bytes).toString());
    },
    keepShared: (parts: readonly SharedPart[]) => {
      if (state.failing) return Promise.reject(new Error('no database'));
      kept.push(...parts.map(({ id }) => id));
      return Promise.resolve();
    },
  } as unknown as ProfileStorage;
  return { storage, written, documents, kept, state };
}

const quiet = { warn: () => undefined };

describe('writer', () => {
  it('writes in batches, in order, and shows what waits meanwhile', async () => {
    const { storage, written } = heldStorage();
    const writer = createWriter({ storage, ...quiet });
    for (let i = 0; i < 250; i++) writer.enqueue(profile(`t${i}`));
    expect(writer.peek('t7')?.index.token).to.equal('t7');
    expect(await writer.flush(1000)).to.equal(true);
    expect(written).to.have.length(250);
    expect(written[249]).to.equal('t249');
    expect(writer.peek('t7')).to.equal(undefined);
    expect(writer.counters()).to.include({ written: 250, pending: 0, pendingBytes: 0 });
  });

  it('keeps the later of two versions of a profile', async () => {
    const { storage, written } = heldStorage();
    const writer = createWriter({ storage, ...quiet });
    writer.enqueue(profile('a'));
    writer.enqueue(profile('a', { size: 5 }));
    expect(writer.peek('a')?.document).to.equal('xxxxx');
    await writer.flush(1000);
    expect(written).to.deep.equal(['a']);
  });

  it('tries again after a failure and loses nothing', async () => {
    const { storage, written, state } = heldStorage();
    const sentences: string[] = [];
    const writer = createWriter({ storage, warn: (sentence) => sentences.push(sentence) });
    state.failing = true;
    for (let i = 0; i < 5; i++) writer.enqueue(profile(`t${i}`));
    await sleep(400);
    expect(written).to.deep.equal([]);
    expect(writer.stalled()).to.equal(true);
    state.failing = false;
    expect(await writer.flush(4000)).to.equal(true);
    expect(writer.stalled()).to.equal(false);
    expect(written.sort()).to.deep.equal(['t0', 't1', 't2', 't3', 't4']);
    expect(sentences).to.have.length(1);
  });

  it('is bounded in bytes, drops own pages first, and counts what it dropped', async () => {
    const { storage, written, state } = heldStorage();
    state.failing = true;
    const sentences: string[] = [];
    const writer = createWriter({ storage, maxBytes: 20_000, warn: (sentence) => sentences.push(sentence) });
    writer.enqueue(profile('own', { kind: 'profiler', size: 1000 }));
    for (let i = 0; i < 20; i++) writer.enqueue(profile(`t${i}`, { size: 1000 }));
    const { pendingBytes, dropped } = writer.counters();
    expect(pendingBytes).to.be.at.most(20_000);
    expect(writer.peek('own')).to.equal(undefined);
    expect(writer.peek('t19')).to.not.equal(undefined);
    const lost = dropped['queue full'] ?? 0;
    expect(sentences.filter((sentence) => sentence.startsWith('Profiles are lost'))).to.have.length(1);
    state.failing = false;
    await writer.flush(4000);
    expect(written.length + lost).to.equal(21);
  });

  it('keeps what lists show of the oldest when it is full, before it drops any', async () => {
    const { storage, state } = heldStorage();
    state.failing = true;
    const writer = createWriter({ storage, maxBytes: 60_000, ...quiet });
    for (let i = 0; i < 20; i++) writer.enqueue(profile(`t${i}`, { size: 4000 }));
    const { pendingBytes, dropped, shed } = writer.counters();
    expect(pendingBytes).to.be.at.most(60_000);
    expect(dropped).to.deep.equal({});
    expect(shed['queue full']).to.be.within(5, 15);
    expect(JSON.parse(writer.peek('t0')?.document ?? '')).to.include({ token: 't0' });
    expect(writer.peek('t19')?.document).to.have.length(4000);
    await writer.close(0);
  });

  it('does not let a full batch wait for company', async () => {
    const { storage, written } = heldStorage();
    const writer = createWriter({ storage, lingerMs: 5000, ...quiet });
    writer.enqueue(profile('early'));
    for (let i = 0; i < 100; i++) writer.enqueue(profile(`t${i}`));
    await sleep(50);
    expect(written).to.have.length(101);
  });

  it('gives up at close after its time and says how many were lost', async () => {
    const { storage, state } = heldStorage();
    let open: () => void = () => undefined;
    state.gate = new Promise((resolve) => {
      open = resolve;
    });
    const writer = createWriter({ storage, ...quiet });
    for (let i = 0; i < 700; i++) writer.enqueue(profile(`t${i}`));
    await writer.close(200);
    open();
    expect(writer.counters().dropped['shut down']).to.be.greaterThan(0);
    writer.enqueue(profile('too late'));
    expect(writer.peek('too late')).to.equal(undefined);
  });
});
