import { expect } from 'chai';
import { Outline, packRow, tokenOfRow, unpackRow } from '../../app/profiler/waiting-profile.ts';
import { profileOf } from '../storage/contract.ts';

describe('a profile that waits without its detail', () => {
  const index = {
    ...profileOf(7).index,
    url: '/größe?"a"',
    error: 'TypeError: no "x"',
    parent: null,
    marks: [{ label: 'N+1', severity: 'bad' as const }],
  };

  it('has all its columns again', () => {
    expect(unpackRow(packRow(index))).to.deep.equal(index);
  });

  it('is found by its token without reading the rest', () => {
    expect(tokenOfRow(packRow(index))).to.equal(index.token);
  });

  it('is shown and stored as what its columns tell', () => {
    const outline = new Outline(packRow(index));
    expect(outline.index).to.deep.equal(index);
    expect(JSON.parse(outline.document)).to.deep.include({
      token: index.token,
      url: index.url,
      error: { name: 'TypeError', message: 'no "x"' },
      panels: {},
      cut: { detail: 1 },
    });
    expect(Buffer.from(outline.bytes).toString()).to.equal(outline.document);
  });
});
