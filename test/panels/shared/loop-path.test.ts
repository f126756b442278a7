import { expect } from 'chai';
import { areApart, loopAbove } from '../../../app/panels/shared/loop-path.ts';

/** The lines of a file up to the one that is marked. */
function source(text: string) {
  const lines = text.split('\n');
  return { from: 1, lines: lines.slice(0, lines.findIndex((line) => line.includes('// here')) + 1) };
}

const HELPER = source(`async function find(id) {
  return await db.query('select', [id]); // here
}`);

function loopOf(caller: string): string | null {
  return loopAbove('repo.ts:2', ['list.ts:9', 'app.ts:1'], (place) =>
    place === 'repo.ts:2' ? HELPER : place === 'list.ts:9' ? source(caller) : null,
  );
}

describe('the line that loops', () => {
  it('is in the nearest function whose source shows a loop around the call', () => {
    for (const text of [
      'for (const order of orders) order.lines = await find(order.id); // here',
      'const all = await Promise.all(orders.map((order) => find(order.id))); // here',
      `async function list() {
  for (const order of orders) {
    if (order.isOpen) {
      // its lines

      order.lines = await find(order.id); // here`,
      `  await Promise.all(
    orders.map(async (order) => {
      const lines = await find(order.id); // here`,
    ])
      expect(loopOf(text), text).to.equal('list.ts:9');
  });

  it('is none of another function, nor one that is over', () => {
    for (const text of [
      `for (const name of names) {
  register(name);
}
const one = await find(1); // here`,
      `for (const route of routes)
  app.get(route, async (req, res) => {
    const one = await find(req.params.id); // here`,
      `class Orders {
  async show(id) {
    const one = await find(id); // here`,
    ])
      expect(loopOf(text), text).to.equal(null);
  });

  it('is that of the statement itself if it stands in the loop', () => {
    const inLoop = source('for (const id of ids) await db.query(id); // here');
    expect(loopAbove('repo.ts:2', ['list.ts:9'], () => inLoop)).to.equal(null);
  });

  it('needs runs that came the same way', () => {
    expect(areApart([undefined, ['a:1'], ['b:2']])).to.equal(true);
    expect(areApart([undefined, ['a:1'], ['a:1'], ['b:2']])).to.equal(false);
    expect(areApart([undefined, ['a:1']])).to.equal(false);
    expect(areApart([undefined, undefined, undefined])).to.equal(false);
    const many = Array.from({ length: 30 }, (_of, at) => (at > 0 && at < 10 ? [`a:${at}`] : undefined));
    expect(areApart(many)).to.equal(false);
  });
});
