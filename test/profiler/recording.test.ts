import { expect } from 'chai';
import { createRecording } from '../../app/profiler/record/recording.ts';
import { until } from '../support/waiting.ts';
import { createMemoryStore } from '../support/memory-store.ts';

describe('recording', () => {
  it('can be paused and resumed', async () => {
    const recording = createRecording(createMemoryStore());
    expect([recording.check(), recording.wasPaused()]).to.deep.equal([false, false]);
    await recording.pause();
    expect(recording.pausedAt()).to.be.closeTo(Date.now(), 1000);
    expect(recording.check()).to.equal(true);
    await recording.resume();
    expect([recording.check(), recording.wasPaused(), recording.pausedAt()]).to.deep.equal([
      false,
      true,
      null,
    ]);
  });

  it('is paused in every process of the storage, and stays so in one that starts', async () => {
    const storage = createMemoryStore();
    const [one, other] = [createRecording(storage), createRecording(storage)];
    await other.refresh();
    await one.pause();
    await other.refresh();
    expect(other.pausedAt()).to.equal(one.pausedAt());
    const started = createRecording(storage);
    started.check();
    await until(() => started.pausedAt() !== null, 'the setting is read');
    expect(started.check()).to.equal(true);
  });

  it('asks the storage at most now and then, and only when it is asked', async () => {
    let reads = 0;
    const recording = createRecording({
      setting: () => Promise.resolve((reads++, null)),
    });
    for (let i = 0; i < 100; i++) recording.check();
    await new Promise((resolve) => setImmediate(resolve));
    expect(reads).to.equal(1);
  });

  it('does not take back what was changed while it was being read', async () => {
    let answer: (value: string | null) => void = () => undefined;
    const recording = createRecording({
      setting: (_name, value) =>
        value === undefined ? new Promise((resolve) => (answer = resolve)) : Promise.resolve(value),
    });
    const reading = recording.refresh();
    await recording.pause();
    answer(null);
    await reading;
    expect(recording.pausedAt()).to.not.equal(null);
  });

  it('believes the later of two reads, whichever answers first', async () => {
    const answers: ((value: string | null) => void)[] = [];
    const recording = createRecording({
      setting: () => new Promise((resolve) => answers.push(resolve)),
    });
    const readings = [recording.refresh(), recording.refresh()];
    answers[1]?.('1795194214715');
    await readings[1];
    answers[0]?.(null);
    await readings[0];
    expect(recording.pausedAt()).to.equal(1795194214715);
  });

  it('goes on as it was where the setting can’t be read, or is none', async () => {
    for (const setting of [() => Promise.reject(new Error('away')), () => Promise.resolve('soon')]) {
      const recording = createRecording({ setting });
      await recording.refresh();
      expect(recording.pausedAt()).to.equal(null);
    }
  });
});
