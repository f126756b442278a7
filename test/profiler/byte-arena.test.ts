import { expect } from 'chai';
import { createByteArena } from '../../app/profiler/byte-arena.ts';

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

  it('gives a large text a buffer of its own', () => {
    const arena = createByteArena();
    const large = arena.write('x'.repeat(1000 * KILOBYTE));
    expect(large.bytes.length).to.equal(1000 * KILOBYTE);
    large.free();
    expect(arena.unused()).to.equal(0);
  });
});
