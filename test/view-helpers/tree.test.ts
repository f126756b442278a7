import { load } from 'cheerio';
import { expect } from 'chai';
import { toPlain } from '../../app/profiler/record/plain.ts';
import { tree } from '../../app/view-helpers/tree.ts';

function treeOf(value: unknown, options: { most?: number; open?: number; id?: string } = {}) {
  return load(tree(value, { label: 'Value', ...options }).toString());
}

/** As the copy button reads it. */
function copied($: ReturnType<typeof treeOf>): string {
  const region = $('.tree').clone();
  region.find('.say').remove();
  return region.text();
}

const ORDER = {
  id: 4712,
  name: 'أميرة "x"',
  open: true,
  none: null,
  lines: [
    { sku: 'K-1', quantity: 2 },
    { sku: 'K-2', quantity: 1, note: 'x'.repeat(80) },
  ],
  empty: {},
  deep: { a: { b: { c: ['1', '2', '3', 'a longer text so that it does not stand on one line', 5] } } },
};

describe('a value as a tree', () => {
  it('counts the entries that the recorder left out, where it says so', () => {
    const list = toPlain(Array.from({ length: 500 }, () => 0));
    const object = toPlain(
      Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, index])),
    );
    expect(treeOf(list)('summary').first().text()).to.include('500 items, 100 recorded');
    expect(treeOf(object)('summary').first().text()).to.include('500 fields, 100 recorded');
    const own = Array.from({ length: 20 }, () => '3 more');
    expect(treeOf(own)('summary').first().text()).to.match(/\b20 items$/);
  });

  it('is JSON as text, folded or not', () => {
    for (const value of [ORDER, [ORDER, ORDER], 'text', 7, null, true, [], {}])
      expect(JSON.parse(copied(treeOf(value)))).to.deep.equal(value);
  });

  it('folds what is long, opens the first levels, and counts what is inside', () => {
    const $ = treeOf(ORDER);
    const open = $('details[open] > summary')
      .toArray()
      .map((element) => $(element).text());
    expect(open).to.deep.equal(['{ 7 fields', '"lines": [ 2 items', '"deep": { 1 field']);
    expect($('details:not([open])').length).to.be.greaterThan(0);
    expect($('details details li').first().text(), 'a short one on one line').to.equal(
      '{"sku": "K-1", "quantity": 2},',
    );
    expect(treeOf(ORDER, { open: 0 })('details[open]').length).to.equal(0);
  });

  it('shows no more entries than it may, and says how many it left out', () => {
    const $ = treeOf(
      Array.from({ length: 1000 }, (_, index) => `item ${index}`),
      { most: 50 },
    );
    expect($('li').length).to.be.at.most(51);
    expect($('li').last().text()).to.equal('… 950 more of 1,000 items');
  });

  it('survives depth, and makes no markup of names and texts', () => {
    let deep: unknown = 'the long end of it, which is no short text at all';
    for (let level = 0; level < 2000; level++) deep = { [`level ${level} of many, with a long name`]: deep };
    expect(treeOf(deep)('details').length).to.be.within(30, 60);
    const $ = treeOf({ '<b>"&': '</li><script>alert(1)</script>', __proto__: '<img src=x>' }, { id: 'd1"x' });
    expect($('b, script, img').length).to.equal(0);
    expect($('.tree').attr('id')).to.equal('d1"x');
  });
});
