/**
 * The scan decides which texts no rule looks at: it may say too much, and never too little. Random texts are made of names
 * in all their spellings and of what stands around them; each is masked by the rules alone too.
 */
import { expect } from 'chai';
import { createNameRule, secretNames } from '../../app/profiler/redact-name-rule.ts';
import { createScan, HOLDS } from '../../app/profiler/redact-scan.ts';
import { maskShapes, SHAPE_HEADS } from '../../app/profiler/redact-shapes.ts';
import { maskPairs, maskUnseenPairs, mayCutFieldName } from '../../app/profiler/redact-text.ts';
import { createValueMask, spellingsOfAll } from '../../app/profiler/redact-values.ts';

const SECRETS = [
  'Qz7w app+S/k"3tVx&9<r>T',
  'Kx4mJ8vRb2NqYt6WpZc1',
  'пароль-очень-секретный',
  'long secret '.repeat(30),
];
const names = secretNames(['foo2', 'not-a-word']);
const masking = { ...createNameRule(names), learn: () => undefined };
const scan = createScan(names, [...SHAPE_HEADS, ...spellingsOfAll(SECRETS)]);

/** The same numbers in each run (a linear congruential generator, Numerical Recipes). */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const random = createRandom(7);
function pick(list: readonly string[]): string {
  return list[random(list.length)] ?? '';
}

const LOOKALIKES = ['side', 'spin', 'author', 'compass', 'passion', 'design', 'x-debug-token', 'tokenType'];
const AROUND = [
  '=', ': ', '":"', '": "', '" : "', '\\":\\"', '>', ' = ', '\n', '&', '?', ';', '"', "'", '<', '</', '/>', '" value="', ' ',
  '\r\n\r\n', '--', '%3D', '%22%3A%22', '{"', '"}', ',', '[', '\\', '\\\\', '\\n', '…', '•', '%', '%20', '%5B', '&amp;', '.', '-',
  '_', ' is ', ' --', "', '", '\\"', ') values (', "('", ' by ', '=>', ']=', 'x'.repeat(195), 'A', 'é', '\u212a', '\u0130', 'ő', '7',
]; // prettier-ignore
const BEFORE = [
  '<input name="', '<meta name=', '<button id=\'', 'form-data; name="', '<', '{"', '\\"', '?', '&', '{"a":"{\\"', 'cookie: ', ' ',
]; // prettier-ignore
const VALUES = [
  'abc123def',
  '"quoted"',
  "'single'",
  'Bearer abcdefghijkl',
  'true',
  '$1',
  '{"a":1}',
  '["b"]',
  '%22a%22',
];

/** A name as someone may write it: with capitals, parted, escaped in an address or in JSON. */
function spell(name: string): string {
  const at = random(name.length);
  const character = name.charAt(at);
  const code = name.charCodeAt(at).toString(16);
  const [head, tail] = [name.slice(0, at), name.slice(at + 1)];
  const spellings = [
    name,
    name.toUpperCase(),
    `${head}${character.toUpperCase()}${tail}`,
    `user${name.charAt(0).toUpperCase()}${name.slice(1)}Id`,
    `user[${name}]`,
    `${head}${pick(['-', '_', '.', ' ', '\\/', '%2d', '\\n', '\u200b'])}${character}${tail}`,
    `${head}%${code}${tail}`,
    `${head}\\u${code.padStart(4, '0')}${tail}`,
    name.replace('k', '\u212a'),
    `${name}s`,
  ];
  return pick(spellings);
}

/** A name that only an address or JSON can read. */
function createEscaped(): string {
  const name = pick(names.words);
  const at = random(name.length);
  const code = name.charCodeAt(at).toString(16);
  const [head, tail] = [name.slice(0, at), name.slice(at + 1)];
  return pick([
    `${pick(['?', 'x&', 'a?b=c%20d&', ''])}${head}%${code}${tail}=abc123def`,
    `?a%5B${name}%5D=abc123def&b`,
    `?a=%7B%22${name}%22%3A%22abc123def%22%7D`,
    `{"a":"\\n","${head}\\u00${code}${tail}" : "abc123def"}`,
    `{"\\t${name}":"abc`,
    JSON.stringify({ a: JSON.stringify({ [`\n${name}`]: 'abc123def' }) }),
  ]);
}

function createText(): string {
  if (random(20) === 0) return pick(BEFORE) + createEscaped() + pick(AROUND);
  let text = '';
  for (let part = 1 + random(7); part > 0; part--) {
    const kind = random(10);
    if (kind < 3) text += spell(pick([...names.words, ...names.joined]));
    else if (kind < 4) text += pick(LOOKALIKES);
    else if (kind < 6) text += pick(VALUES);
    else if (kind < 9) text += pick(AROUND);
    else text += pick(BEFORE) + spell(pick(names.words)) + pick(AROUND) + pick(VALUES);
  }
  if (random(10) === 0) text = JSON.stringify({ a: JSON.stringify({ [text]: pick(VALUES) }) });
  return random(20) === 0 ? encodeURIComponent(text) : text;
}

function maskAll(text: string): string {
  return maskPairs(text, masking, false);
}

describe('the scan before masking', () => {
  it('passes over no text in which the rules by name find something', () => {
    let passed = 0;
    let masked = 0;
    for (let round = 0; round < 60_000; round++) {
      const text = createText();
      const seen = scan(text);
      if ((seen & HOLDS.name) !== 0) continue;
      passed++;
      const expected = maskAll(text);
      if (expected !== text) masked++;
      expect(maskUnseenPairs(text, masking), text).to.equal(expected);
      if ((seen & HOLDS.escape) === 0 && !mayCutFieldName(text)) expect(expected).to.equal(text);
      if ((seen & HOLDS.pair) === 0) expect(expected).to.equal(text);
    }
    // Else the texts would test nothing: many hold no name, and many of those one that only the rules can read.
    expect(passed).to.be.greaterThan(5000);
    expect(masked).to.be.greaterThan(500);
  });

  it('knows that the name of a form field may be cut in the middle of a word', () => {
    const text = `<input name="${'x-'.repeat(98)}salted" value="abc123def">`;
    expect(scan(text) & HOLDS.name).to.equal(0);
    expect(maskUnseenPairs(text, masking)).to.equal(maskAll(text));
    expect(maskAll(text)).to.not.contain('abc123def');
  });

  it('knows what only looks alike from a name', () => {
    for (const text of [
      'author=1',
      'a=passion',
      'keyboard=1',
      'passed: 1',
      'a=compassion',
      'compass: north',
      'design="x"',
      '{"side":1}',
      'class=a',
    ])
      expect(scan(text) & HOLDS.name, text).to.equal(0);
    for (const text of [
      'auth=1',
      'userToken: x',
      'p.a.ss-word',
      'authorize',
      'authn',
      'passbook',
      'masterkeys',
      'myKey',
      'Xpin|',
      'my_otp',
      'foo2',
    ])
      expect(scan(text) & HOLDS.name, text).to.equal(text === 'Xpin|' ? 0 : HOLDS.name);
  });

  it('sees the beginning of each known value in each spelling, whole or cut off', () => {
    for (const spelling of spellingsOfAll(SECRETS)) {
      for (const text of [`a ${spelling} b`, `x${spelling.slice(0, 4)}`, `x${spelling.slice(0, 3)}… more`])
        expect(scan(text) & HOLDS.head, text).to.equal(HOLDS.head);
    }
  });

  it('sees the beginning of each shape', () => {
    const shapes = [
      'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4',
      '-----BEGIN RSA PRIVATE KEY-----\nabc',
      'Bearer abcdefghijkl',
      ...SHAPE_HEADS.slice(2).map((head) =>
        `${head}${'0A'.repeat(20)}`.slice(0, head.startsWith('A') ? 20 : 60),
      ),
    ];
    let found = 0;
    for (const text of shapes.map((shape) => `a ${shape} b`)) {
      if (maskShapes(text, { head: true, digits: false }) === text) continue;
      found++;
      expect(scan(text) & HOLDS.head, text).to.equal(HOLDS.head);
    }
    expect(found).to.be.greaterThan(12);
    expect(scan('x://bob:pw@db') & HOLDS.at).to.equal(HOLDS.at);
  });

  it('lets known values in mixed escapes be found where no spelling begins', () => {
    const known = createValueMask(SECRETS, { escapes: true });
    for (const secret of SECRETS.slice(0, 3)) {
      const text = Array.from(secret)
        .map((character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
        .join('');
      expect(scan(text) & HOLDS.escape).to.equal(HOLDS.escape);
      expect(known?.mask(`a ${text} b`)).to.equal('a •••••• b');
    }
  });
});
