import { expect } from 'chai';
import { createHeaderSplit, mergeHeaders } from '../../../app/panels/shared/common-headers.ts';

const SENT = [
  'X-Frame-Options',
  'DENY',
  'X-Trace',
  '1',
  'Content-Type',
  'text/html',
  'Set-Cookie',
  'a=1',
  'Vary',
  'Accept',
];

function pairs(raw: readonly string[]) {
  return Array.from({ length: raw.length / 2 }, (_, i) => ({
    name: raw[2 * i] ?? '',
    value: raw[2 * i + 1] ?? '',
  }));
}

describe('headers that most answers have', () => {
  it('are shared from their second time on, and merge to what was sent', () => {
    const split = createHeaderSplit();
    expect(split(SENT)).to.deep.equal({ common: null, own: pairs(SENT) });
    const again = split(SENT.with(3, '2'));
    expect(again.own.map((row) => row?.name ?? null)).to.deep.equal([
      null,
      'X-Trace',
      null,
      'Set-Cookie',
      null,
    ]);
    expect(again.common?.headers.map((row) => row?.name ?? null)).to.deep.equal([
      'X-Frame-Options', null, 'Content-Type', null, 'Vary',
    ]); // prettier-ignore
    expect(mergeHeaders(again.own, again.common)).to.deep.equal(pairs(SENT.with(3, '2')));
    expect(split(SENT).common).to.equal(again.common);
  });

  it('are others where an order, a name or a value differs', () => {
    const split = createHeaderSplit();
    split(SENT);
    const { common } = split(SENT);
    for (const other of [
      SENT.with(1, 'SAMEORIGIN'),
      SENT.with(0, 'x-frame-options'),
      [...SENT.slice(2), ...SENT.slice(0, 2)],
    ]) {
      expect(split(other).common).to.equal(null);
      const again = split(other);
      expect(again.common).to.not.equal(common);
      expect(mergeHeaders(again.own, again.common)).to.deep.equal(pairs(other));
    }
  });

  it('hold nothing that a client may have given: a nonce, a cookie, a name that is not on the list', () => {
    const split = createHeaderSplit();
    const sent = [
      'Content-Security-Policy',
      "script-src 'nonce-abc'",
      'Location',
      '/x',
      'Set-Cookie',
      'a=1',
      'X-Echo',
      'secret',
    ];
    split(sent);
    expect(split(sent)).to.deep.equal({ common: null, own: pairs(sent) });
  });

  it('stay bounded where each answer differs', () => {
    const split = createHeaderSplit();
    for (let i = 0; i < 3000; i++) split(SENT.with(1, String(i)));
    for (let i = 0; i < 300; i++) {
      split(SENT.with(1, `a${i}`));
      expect(
        mergeHeaders(split(SENT.with(1, `a${i}`)).own, split(SENT.with(1, `a${i}`)).common),
      ).to.have.length(5);
    }
  });

  it('are left out where they are stored no more', () => {
    const split = createHeaderSplit();
    split(SENT);
    expect(mergeHeaders(split(SENT).own, null).map(({ name }) => name)).to.deep.equal([
      'X-Trace',
      'Set-Cookie',
    ]);
  });
});
