import { expect } from 'chai';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { ProfileIndex } from '../../app/profiler/profile-index.ts';
import type { ProfileStorage, QueuedProfile, SharedPart, StoredProfile } from '../../app/profiler/storage.ts';
import type { QueuedLeft } from '../../app/profiler/black-box.ts';
import { createWriter } from '../../app/profiler/writer.ts';
import { until } from '../support/waiting.ts';

function profile(token: string, options: { kind?: ProfileIndex['kind']; size?: number } = {}): StoredProfile {
  const { kind = 'request', size = 100 } = options;
  return { index: { token, kind, url: '/' } as ProfileIndex, document: 'x'.repeat(size) };
}

/** A storage whose writes can be held, failed and counted. */
function heldStorage() {
  const written: string[] = [];
  const documents = new Map<string, string>();
  const history: string[] = [];
  const kept: string[] = [];
  const state = { failing: false, asked: 0, gate: Promise.resolve() };
  const storage = {
    name: 'memory',
    write: async (batch: readonly QueuedProfile[]) => {
      state.asked++;
      await state.gate;
      if (state.failing) throw new Error('no database');
      written.push(...batch.map(({ index }) => index.token));
      for (const { index, bytes } of batch) {
        documents.set(index.token, Buffer.from(bytes).toString());
        history.push(Buffer.from(bytes).toString());
      }
    },
    storeShared: (parts: readonly SharedPart[]) => {
      if (state.failing) return Promise.reject(new Error('no database'));
      kept.push(...parts.map(({ id }) => id));
      return Promise.resolve();
    },
  } as unknown as ProfileStorage;
  return { storage, written, documents, history, kept, state };
}

const quiet = { warn: () => undefined };

describe('writer', () => {
  it('writes in batches, in order, and shows what waits meanwhile', async () => {
    const { storage, written } = heldStorage();
    const writer = createWriter({ storage, ...quiet });
    for (let i = 0; i < 250; i++) writer.enqueue(profile(`t${i}`));
    expect(writer.peek('t7')?.index.token).to.equal('t7');
    expect(await writer.flush(5000)).to.equal(true);
    expect(written).to.have.length(250);
    expect(written[249]).to.equal('t249');
    expect(writer.peek('t7')).to.equal(undefined);
    expect(writer.counters()).to.include({ written: 250, pending: 0, pendingBytes: 0 });
  });

  it('keeps the later of two versions of a profile', async () => {
    const { storage, documents } = heldStorage();
    const writer = createWriter({ storage, ...quiet });
    writer.enqueue(profile('a'));
    writer.enqueue(profile('a', { size: 5 }));
    expect(writer.peek('a')?.document).to.equal('xxxxx');
    await writer.flush(5000);
    expect(documents.get('a')).to.equal('xxxxx');
  });

  it('asks the storage for nothing more when it has closed', async () => {
    const { storage, state } = heldStorage();
    let tries = 0;
    const write = storage.write.bind(storage);
    storage.write = (batch) => {
      tries++;
      return write(batch);
    };
    let release = (): void => undefined;
    state.gate = new Promise((resolve) => {
      release = resolve;
    });
    state.failing = true;
    const writer = createWriter({ storage, ...quiet });
    writer.enqueue(profile('a'));
    await writer.close(50);
    release();
    await sleep(400);
    expect(tries).to.equal(1);
    expect(writer.counters()).to.deep.include({
      pending: 0,
      pendingBytes: 0,
      dropped: { 'unconfirmed at shut down': 1 },
    });
  });

  it('tries again after a failure and loses nothing', async () => {
    const { storage, written, state } = heldStorage();
    const sentences: string[] = [];
    const writer = createWriter({ storage, warn: (sentence) => sentences.push(sentence) });
    state.failing = true;
    for (let i = 0; i < 5; i++) writer.enqueue(profile(`t${i}`));
    await until(() => writer.stalled(), 'the writer knows that nothing is stored');
    expect(written).to.deep.equal([]);
    state.failing = false;
    expect(await writer.flush(8000)).to.equal(true);
    expect(writer.stalled()).to.equal(false);
    expect(written.sort()).to.deep.equal(['t0', 't1', 't2', 't3', 't4']);
    expect(sentences).to.have.length(1);
  });

  it('is bounded in bytes, drops the oldest, counts them and says so once', async () => {
    const { storage, written, state } = heldStorage();
    state.failing = true;
    const sentences: string[] = [];
    const writer = createWriter({ storage, maxBytes: 20_000, warn: (sentence) => sentences.push(sentence) });
    for (let i = 0; i < 300; i++) writer.enqueue(profile(`t${i}`, { size: 1000 }));
    const { pendingBytes, pending, dropped } = writer.counters();
    expect(pendingBytes).to.be.at.most(20_000);
    expect(pending).to.be.within(10, 12);
    expect(dropped).to.deep.equal({ 'queue full': 300 - pending });
    const left = Array.from({ length: pending }, (_, i) => `t${300 - pending + i}`);
    expect([...writer.pending()].map(({ index }) => index.token)).to.deep.equal(left);
    expect(writer.peek('t0')).to.equal(undefined);
    expect(sentences.filter((sentence) => sentence.startsWith('Profiles are dropped'))).to.have.length(1);
    state.failing = false;
    expect(await writer.flush(8000)).to.equal(true);
    expect(written).to.deep.equal(left);
    expect(writer.counters()).to.include({ pending: 0, pendingBytes: 0, written: pending });
  });

  it('drops the oldest first also after a failure, those of the failed batch before those that came later', async () => {
    const { storage, state } = heldStorage();
    let open: () => void = () => undefined;
    state.gate = new Promise((resolve) => {
      open = resolve;
    });
    state.failing = true;
    const writer = createWriter({ storage, maxBytes: 20_000, ...quiet });
    for (let i = 0; i < 3; i++) writer.enqueue(profile(`t${i}`, { size: 1000 }));
    await until(() => state.asked > 0, 'the batch is being written');
    for (let i = 3; i < 20; i++) writer.enqueue(profile(`t${i}`, { size: 1000 }));
    for (let i = 0; i < 3; i++) expect(writer.peek(`t${i}`)).to.not.equal(undefined);
    open();
    await until(() => writer.counters().failedWrites > 0, 'the batch has failed');
    const left = [...writer.pending()].map(({ index }) => index.token);
    for (let i = 20; i < 24; i++) writer.enqueue(profile(`t${i}`, { size: 1000 }));
    expect(writer.peek('t0')).to.equal(undefined);
    expect([...writer.pending()].map(({ index }) => index.token).slice(-5)).to.deep.equal([
      't19',
      't20',
      't21',
      't22',
      't23',
    ]);
    expect(left).to.include('t0');
    await writer.close(0);
  });

  it('counts the bytes of a document for its index', async () => {
    const { storage, documents } = heldStorage();
    const writer = createWriter({ storage, ...quiet });
    const given = { ...profile('a'), document: '"é\u{1f600}"' };
    writer.enqueue(given);
    expect(given.index.bytes).to.equal(8);
    expect(writer.peek('a')?.document).to.equal(given.document);
    await writer.flush(5000);
    expect(documents.get('a')).to.equal(given.document);
  });

  it('leaves the bytes of a batch alone until it is stored, whatever comes meanwhile', async () => {
    const { storage, documents, state } = heldStorage();
    let open: () => void = () => undefined;
    state.gate = new Promise((resolve) => {
      open = resolve;
    });
    const writer = createWriter({ storage, maxBytes: 60_000, ...quiet });
    for (let i = 0; i < 5; i++) writer.enqueue({ ...profile(`t${i}`), document: `"${i}"`.padEnd(4000) });
    await until(() => state.asked > 0, 'the batch is being written');
    writer.enqueue({ ...profile('t3'), document: '"newer"' });
    for (let i = 5; i < 200; i++) writer.enqueue(profile(`t${i}`, { size: 4000 }));
    open();
    await until(() => documents.has('t0'), 'the batch is stored');
    for (let i = 0; i < 5; i++) if (i !== 3) expect(documents.get(`t${i}`)?.trim()).to.equal(`"${i}"`);
    await writer.flush(5000);
    expect(writer.counters()).to.include({ pending: 0, pendingBytes: 0 });
  });

  it('leaves what a late storage has not taken in the black box, a few at a time', async () => {
    const { storage, state } = heldStorage();
    let open: () => void = () => undefined;
    state.gate = new Promise((resolve) => {
      open = resolve;
    });
    const left: string[][] = [];
    let emptied = 0;
    const blackBox = {
      add: (profiles: readonly QueuedLeft[]) => left.push(profiles.map(({ index }) => index.token)) > 0,
      empty: () => void emptied++,
    };
    const writer = createWriter({ storage, blackBox, ...quiet });
    const tokens = Array.from({ length: 130 }, (_, number) => `t${number}`);
    for (const token of tokens) writer.enqueue(profile(token));
    await until(() => left.flat().length >= tokens.length, 'all are in the box');
    expect(left.flat()).to.deep.equal(tokens);
    expect(Math.max(...left.map(({ length }) => length))).to.be.at.most(50);
    expect(emptied).to.equal(0);
    open();
    await writer.flush(5000);
    expect(emptied).to.equal(1);
  });

  it('keeps the later of two versions when the earlier one is being written', async () => {
    const { storage, history, written, state } = heldStorage();
    let open: () => void = () => undefined;
    state.gate = new Promise((resolve) => {
      open = resolve;
    });
    const writer = createWriter({ storage, ...quiet });
    writer.enqueue({ ...profile('a'), document: '"running"' });
    await until(() => state.asked > 0, 'the first version is being written');
    writer.enqueue({ ...profile('a'), document: '"final"' });
    expect(writer.peek('a')?.document).to.equal('"final"');
    open();
    expect(await writer.flush(5000)).to.equal(true);
    expect(written).to.deep.equal(['a', 'a']);
    expect(history).to.deep.equal(['"running"', '"final"']);
  });

  it('has what profiles share kept before them, once, and again after a failure', async () => {
    const { storage, kept, written, state } = heldStorage();
    const writer = createWriter({ storage, ...quiet });
    const routes = { id: 'r1', text: '[]' };
    writer.enqueue(profile('a'), [routes]);
    await writer.flush(5000);
    writer.enqueue(profile('b'), [routes, { id: 'c1', text: '{}' }]);
    await writer.flush(5000);
    expect(kept).to.deep.equal(['r1', 'c1']);
    state.failing = true;
    writer.enqueue(profile('c'), [routes]);
    await until(() => writer.counters().failedWrites > 0, 'a write has failed');
    state.failing = false;
    expect(await writer.flush(8000)).to.equal(true);
    expect(kept).to.deep.equal(['r1', 'c1', 'r1']);
    expect(written).to.deep.equal(['a', 'b', 'c']);
  });

  it('counts a batch whose shared parts can not be kept as failed', async () => {
    const { storage, written } = heldStorage();
    const broken = {
      ...storage,
      storeShared: () => Promise.reject(new Error('no table')),
    } as unknown as ProfileStorage;
    const writer = createWriter({ storage: broken, ...quiet });
    writer.enqueue(profile('a'), [{ id: 'r1', text: '[]' }]);
    await until(() => writer.counters().failedWrites > 0, 'the batch has failed');
    expect(await writer.flush(50)).to.equal(false);
    expect(written).to.deep.equal([]);
    expect(writer.peek('a')).to.not.equal(undefined);
    await writer.close(0);
  });

  it('does not let the first one of a process wait for company', async () => {
    const { storage, written } = heldStorage();
    const writer = createWriter({ storage, lingerMs: 5000, ...quiet });
    writer.enqueue(profile('first'));
    await until(() => written.length > 0, 'it is stored', 4000);
    expect(written).to.deep.equal(['first']);
    writer.enqueue(profile('second'));
    await sleep(30);
    expect(written).to.deep.equal(['first']);
    await writer.close(1000);
  });

  it('does not let a full batch wait for company', async () => {
    const { storage, written } = heldStorage();
    const writer = createWriter({ storage, lingerMs: 5000, ...quiet });
    writer.enqueue(profile('early'));
    await until(() => written.length === 1, 'the first one is stored', 4000);
    for (let i = 0; i < 100; i++) writer.enqueue(profile(`t${i}`));
    await until(() => written.length > 1, 'a full batch is stored', 4000);
    expect(written).to.have.length(101);
  });

  it('writes while profiles come in each turn of the event loop', async () => {
    const { storage, written } = heldStorage();
    const writer = createWriter({ storage, ...quiet });
    for (let turn = 0; turn < 5000 && written.length === 0; turn++) {
      writer.enqueue(profile(`t${turn}`));
      await nextTurn();
    }
    expect(written).to.not.deep.equal([]);
    await writer.close(1000);
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
