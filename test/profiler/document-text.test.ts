import { expect } from 'chai';
import { createDocumentWriter } from '../../app/profiler/document-text.ts';
import { createQuotedTexts } from '../../app/profiler/quoted-texts.ts';

const LONE = '\ud83d';

class Money {
  readonly cents = 5;
  toJSON(): string {
    return `${this.cents} ct`;
  }
}

const documents: [string, object][] = [
  ['plain fields', { token: 'a1b2c3', status: 200, ok: true, off: false, none: null, list: [1, 'two', [3]] }],
  ['nothing', { empty: {}, list: [], text: '' }],
  [
    'every kind of text',
    { quote: '"', slash: '\\', lines: 'a\r\n\t\b\f', zero: '\0\x1f', del: '\x7f', wide: 'é漢😀', lone: LONE },
  ],
  ['odd keys', { 'a"b': 1, 'é\n': 2, 1: 'number', '': 3, [LONE]: 4, toJSON: 'no function' }],
  [
    'numbers',
    { zero: 0, negative: -0, part: 0.1, large: 1e21, small: 1e-7, none: NaN, all: [Infinity, -1.5] },
  ],
  [
    'what has no form',
    { gone: undefined, called: () => 1, sign: Symbol('s'), list: [undefined, () => 1, 1] },
  ],
  ['objects that write themselves', { at: new Date(0), money: new Money(), list: [new Money()] }],
  ['one that writes itself by a field', { inner: { a: 1, toJSON: () => 'itself', b: 2 }, after: 1 }],
  ['other classes', { map: new Map([[1, 2]]), boxed: [Object('text'), Object(1)], bytes: Buffer.from('b') }],
  ['no prototype', Object.assign(Object.create(null) as object, { a: 1 })],
  ['a field called __proto__', JSON.parse('{"__proto__":{"a":1},"b":2}') as object],
  [
    'long texts',
    { page: '<p class="a">é</p>\n'.repeat(200), upload: 'x'.repeat(20_000), word: 'y'.repeat(150) },
  ],
];

describe('the text of a document', () => {
  for (const [what, document] of documents)
    it(`is that of JSON.stringify: ${what}`, () => {
      const write = createDocumentWriter();
      // From the third time on what repeats is kept.
      for (let time = 0; time < 4; time++) expect(write(document)).to.equal(JSON.stringify(document));
    });

  it('does not depend on the documents before', () => {
    const write = createDocumentWriter();
    for (let round = 0; round < 3; round++)
      for (const [what, document] of documents)
        expect(write(document), what).to.equal(JSON.stringify(document));
  });

  it('is whole again after one that could not be written', () => {
    const write = createDocumentWriter();
    expect(() => write({ before: 1, large: 1n })).to.throw(TypeError);
    expect(write({ after: 1 })).to.equal('{"after":1}');
  });
});

describe('quoted texts', () => {
  it('are kept within bounds', () => {
    const { quote, ...texts } = createQuotedTexts();
    const kept = createQuotedTexts();
    expect(quote('short')).to.equal('"short"');
    expect(texts).to.have.property('bytes', 0);
    for (let number = 0; number < 500; number++) {
      const text = `${number} ${'"'.repeat(8000)}`;
      for (let time = 0; time < 3; time++) expect(kept.quote(text)).to.equal(JSON.stringify(text));
      expect(kept.bytes).to.be.below(1_100_000);
    }
    expect(kept.bytes).to.be.above(0);
  });

  it('are not kept where they are long', () => {
    const texts = createQuotedTexts();
    for (let time = 0; time < 3; time++) texts.quote('x'.repeat(20_000));
    expect(texts.bytes).to.equal(0);
  });
});
