import { expect } from 'chai';
import { type ArenaBytes, createByteArena } from '../../app/profiler/byte-arena.ts';

const KILOBYTE = 1024;

describe('a byte arena', () => {
  it('holds texts and bytes', () => {
    const arena = createByteArena();
    const [text, bytes] = [arena.write('Grüße €'), arena.copy(Buffer.from([1, 2, 3]))];
    expect(text.bytes.toString()).to.equal('Grüße €');
    expect([...bytes.bytes]).to.deep.equal([1, 2, 3]);
  });

  it('uses the same memory again, oldest first', () => {
    const arena = createByteArena();
    const buffers = new Set<ArrayBufferLike>();
    const held = [];
    for (let i = 0; i < 1000; i++) {
      const stored = arena.copy(Buffer.alloc(10 * KILOBYTE, i));
      held.push(stored);
      buffers.add(stored.bytes.buffer);
      if (held.length > 50) held.shift()?.free();
    }
    expect(buffers.size).to.be.at.most(4);
    expect(held.map(({ bytes }) => bytes[0])).to.deep.equal(held.map((_, i) => (950 + i) % 256));
  });

  it('tells where copies set memory free', () => {
    const arena = createByteArena();
    const held = Array.from({ length: 50 }, () => arena.copy(Buffer.alloc(10 * KILOBYTE)));
    for (const stored of held.slice(1, 30)) stored.free();
    expect(arena.unused()).to.be.at.least(200 * KILOBYTE);
    const [first] = held;
    expect(first?.isSparse()).to.equal(true);
    expect(held.at(-1)?.isSparse()).to.equal(false);
    first?.free();
    expect(arena.copy(Buffer.alloc(10 * KILOBYTE)).bytes.buffer).to.equal(first?.bytes.buffer);
  });

  it('lets go of what was more than usual once that is free, and only of that', () => {
    const arena = createByteArena();
    const held: ArenaBytes[] = [];
    const hold = (count: number): ArrayBufferLike[] => {
      for (let i = 0; i < count; i++) held.push(arena.copy(Buffer.alloc(10 * KILOBYTE)));
      return [...new Set(held.map(({ bytes }) => bytes.buffer))];
    };
    const freeAll = (): void => {
      for (const stored of held.splice(0)) stored.free();
    };
    const before = hold(5000);
    freeAll();
    expect(arena.unused()).to.be.within(3500 * KILOBYTE, 4096 * KILOBYTE);
    const usual = hold(300);
    expect(usual.filter((buffer) => !before.includes(buffer))).to.deep.equal([]);
    freeAll();
    const again = hold(5000);
    expect(again).to.have.length(before.length);
    const kept = again.filter((buffer) => before.includes(buffer));
    expect(Math.max(...kept.map(({ byteLength }) => byteLength))).to.equal(256 * KILOBYTE);
    expect(again.length - kept.length).to.equal(2);
  });

  it('gives a large text a buffer of its own', () => {
    const arena = createByteArena();
    const large = arena.write('x'.repeat(1000 * KILOBYTE));
    expect(large.bytes.length).to.equal(1000 * KILOBYTE);
    large.free();
    expect(arena.unused()).to.equal(0);
  });
});
