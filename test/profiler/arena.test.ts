import { expect } from 'chai';
import { bytesOf, createArena, createChunkPool, textOf } from '../../app/profiler/arena.ts';

describe('arena', () => {
  it('gives texts back as they were, also beyond ASCII', () => {
    const arena = createArena(createChunkPool(64));
    const texts = ['', 'plain', 'é\u2192\u{1f600}', 'x'.repeat(60), '\u2192'.repeat(21), 'y'];
    const slots = texts.map((text) => arena.put(text));
    expect(slots.map(textOf)).to.deep.equal(texts);
    expect(slots.map((slot) => bytesOf(slot).toString())).to.deep.equal(texts);
  });

  it('keeps them where a thread can read them', () => {
    const slot = createArena(createChunkPool(64)).put('text');
    expect(bytesOf(slot).buffer).to.be.instanceOf(SharedArrayBuffer);
  });

  it('replaces a lone surrogate, which UTF-8 can not hold', () => {
    expect(textOf(createArena(createChunkPool(64)).put('a\ud800b'))).to.equal('a\ufffdb');
  });

  it('gives a text that is too long a chunk of its own, and goes on filling the other', () => {
    const arena = createArena(createChunkPool(64));
    const small = arena.put('small');
    const large = arena.put('z'.repeat(1000));
    expect(large.length).to.equal(1000);
    expect(arena.put('beside').chunk).to.equal(small.chunk);
    expect(arena.bytes).to.equal(64 + 1000);
    arena.free(large);
    expect(arena.bytes).to.equal(64);
  });

  it('uses the memory again when all in it is let go, not before', () => {
    const arena = createArena(createChunkPool(64));
    const [first, second, third] = ['a', 'b', 'c'].map((letter) => arena.put(letter.repeat(40)));
    if (first === undefined || second === undefined || third === undefined) throw new Error('no slots');
    arena.free(first);
    const fourth = arena.put('d'.repeat(40));
    expect(fourth.chunk).to.equal(first.chunk);
    expect([second, third, fourth].map(textOf)).to.deep.equal(
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
    one.free(first);
    expect(other.put('c'.repeat(40)).chunk).to.equal(first.chunk);
    expect([one.bytes, other.bytes]).to.deep.equal([64, 64]);
  });
});
