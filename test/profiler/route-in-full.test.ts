import { expect } from 'chai';
import { createRouteInFull, pathsOf } from '../../app/profiler/record/route-in-full.ts';
import { createMemoryStore } from '../support/memory-store.ts';
import { until } from '../support/waiting.ts';

describe('a route that is recorded in full', () => {
  for (const [pattern, paths, others] of [
    ['/orders/:id', ['/orders/1', '/Orders/a.b/'], ['/orders', '/orders/1/items', '/ordersx1']],
    ['/a.b/:from-:to', ['/a.b/1-2'], ['/axb/1-2', '/a.b/12']],
    ['/files/*path', ['/files/a', '/files/a/b'], ['/file']],
    ['/users{/:id}', ['/users', '/users/7'], ['/users/7/8']],
    ['/item/:id(\\d+)', ['/item/7'], ['/item/7/8']],
    ['/', ['/'], ['/a']],
  ] as const)
    it(`knows the paths of ${pattern} before they are routed`, () => {
      const known = pathsOf(pattern);
      for (const path of paths) expect(known?.test(path), path).to.equal(true);
      for (const path of others) expect(known?.test(path), path).to.equal(false);
    });

  it('is none whose paths can’t be told', () => {
    for (const pattern of ['', '/^\\/a/', '/graphql · Orders', '/a(b|c)+', '/{', `/${'x'.repeat(600)}`])
      expect(pathsOf(pattern), pattern).to.equal(null);
  });

  it('is known to all processes of a store, and to those that start', async () => {
    const store = createMemoryStore();
    const [one, other] = [createRouteInFull(store), createRouteInFull(store)];
    expect(other.matches('GET', '/orders/1')).to.equal(false);
    await one.start({ method: 'GET', route: '/orders/:id' });
    expect(one.matches('GET', '/orders/1?a=b')).to.equal(true);
    expect(one.matches('POST', '/orders/1')).to.equal(false);
    expect(one.until({ method: 'GET', route: '/orders/:id' })).to.be.closeTo(Date.now() + 60_000, 5000);
    expect(one.until({ method: 'GET', route: '/orders' })).to.equal(null);
    await until(() => other.matches('GET', '/orders/2'), 'the other process knows it');
  });

  it('is none if the setting is damaged or old', async () => {
    const store = createMemoryStore();
    for (const text of ['{', '{"method":"GET","route":"/a","until":1}']) {
      await store.setting('route-in-full', text);
      const one = createRouteInFull(store);
      await one.refresh();
      expect(one.matches('GET', '/a')).to.equal(false);
    }
  });
});
