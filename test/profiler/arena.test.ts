import { expect } from 'chai';
import { type Arena, createArena, createChunkPool } from '../../app/profiler/arena.ts';

/** The memory that a text lies in. */
function chunkOf(arena: Arena, slot: number): ArrayBufferLike {
  return arena.bytesOf(slot).buffer;
}

describe('arena', () => {
  it('gives texts back as they were, also beyond ASCII', () => {
    const arena = createArena(createChunkPool(64));
    const texts = ['', 'plain', 'é\u2192\u{1f600}', 'x'.repeat(60), '\u2192'.repeat(21), 'y'];
    const slots = texts.map((text) => arena.put(text));
    expect(slots.map(arena.textOf)).to.deep.equal(texts);
    expect(slots.map((slot) => arena.bytesOf(slot).toString())).to.deep.equal(texts);
  });

  it('keeps them where a thread can read them', () => {
    const arena = createArena(createChunkPool(64));
    expect(arena.bytesOf(arena.put('text')).buffer).to.be.instanceOf(SharedArrayBuffer);
  });

  it('replaces a lone surrogate, which UTF-8 can not hold', () => {
    const arena = createArena(createChunkPool(64));
    expect(arena.textOf(arena.put('a\ud800b'))).to.equal('a\ufffdb');
  });

  it('gives a text that is too long a chunk of its own, and goes on filling the other', () => {
    const arena = createArena(createChunkPool(64));
    const small = arena.put('small');
    const large = arena.put('z'.repeat(1000));
    expect(arena.lengthOf(large)).to.equal(1000);
    expect(chunkOf(arena, arena.put('beside'))).to.equal(chunkOf(arena, small));
    expect(arena.bytes).to.equal(64 + 1004);
    arena.free(large);
    expect(arena.bytes).to.equal(64);
  });

  it('uses the memory again when all in it is let go, not before', () => {
    const arena = createArena(createChunkPool(64));
    const [first, second, third] = ['a', 'b', 'c'].map((letter) => arena.put(letter.repeat(40)));
    if (first === undefined || second === undefined || third === undefined) throw new Error('no slots');
    const memory = chunkOf(arena, first);
    arena.free(first);
    const fourth = arena.put('d'.repeat(40));
    expect(chunkOf(arena, fourth)).to.equal(memory);
    expect([second, third, fourth].map(arena.textOf)).to.deep.equal(
      ['b', 'c', 'd'].map((letter) => letter.repeat(40)),
    );
    expect(arena.bytes).to.equal(3 * 64);
    for (const slot of [second, third, fourth]) arena.free(slot);
    expect(arena.bytes).to.equal(0);
  });

  it('lets another arena have what it let go', () => {
    const pool = createChunkPool(64);
    const [one, other] = [createArena(pool), createArena(pool)];
    const first = one.put('a'.repeat(40));
    one.put('b'.repeat(40));
    const memory = chunkOf(one, first);
    one.free(first);
    expect(chunkOf(other, other.put('c'.repeat(40)))).to.equal(memory);
    expect([one.bytes, other.bytes]).to.deep.equal([64, 64]);
  });

  it('reads no text that was let go with its chunk, and gives another text its number', () => {
    const arena = createArena(createChunkPool(64));
    const [first, second] = [arena.put('a'.repeat(40)), arena.put('b'.repeat(40))];
    arena.free(first);
    expect(() => arena.textOf(first)).to.throw(/let go/);
    const third = arena.put('c'.repeat(40));
    expect(third).to.equal(first);
    expect([second, third].map(arena.textOf)).to.deep.equal(['b'.repeat(40), 'c'.repeat(40)]);
  });
});
