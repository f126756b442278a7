import { expect } from 'chai';
import { Context } from '../../app/profiler/record/context.ts';
import { type NavigationHints, navigationHintsOf } from '../../app/profiler/record/navigation-hints.ts';
import { type Recorded, requestFact, responseFact } from '../support/page-fixture.ts';

function trail(given: Recorded): NavigationHints | null {
  const context = new Context({ token: '000001', kind: given.kind ?? 'request' });
  context.add('request', requestFact(given));
  context.add('response', responseFact(given));
  return navigationHintsOf(context);
}

const ORIGIN = 'https://shop.example.com';
const asked = (dest: string, more: readonly string[] = [], site = 'same-origin'): Recorded => ({
  headers: ['Sec-Fetch-Dest', dest, 'Sec-Fetch-Site', site, ...more],
});

describe('the trail of a request', () => {
  it('is none for nearly every request', () => {
    expect(trail({})).to.equal(null);
    expect(trail({ status: 200, responseHeaders: ['Location', '/x'] })).to.equal(null);
    expect(trail({ ...asked('document'), kind: 'profiler' })).to.equal(null);
  });

  for (const [location, expected] of [
    ['/account?a=1#top', '/account?a=1'],
    [`${ORIGIN}/account`, '/account'],
    ['items', '/orders/items'],
    ['https://other.example/x', 'https://other.example/x'],
    ['//other.example/x', 'https://other.example/x'],
    ['http://[', null],
    [`/${'x'.repeat(600)}`, null],
  ] as const)
    it(`says where a redirect to ${location.slice(0, 40)} leads`, () => {
      const found = trail({ status: 302, url: '/orders/1', responseHeaders: ['location', location] });
      expect(found?.location ?? null).to.equal(expected);
    });

  it('says which page asked for a subresource', () => {
    expect(trail(asked('empty', ['Referer', `${ORIGIN}/orders?tab=1`]))).to.deep.equal({
      location: null,
      referrer: '/orders?tab=1',
      dest: 'empty',
    });
    expect(trail(asked('style'))).to.deep.equal({ location: null, referrer: null, dest: 'style' });
  });

  for (const [means, headers] of [
    ['eventsource', ['Accept', 'text/event-stream']],
    ['xhr', ['X-Requested-With', 'XMLHttpRequest']],
    ['beacon', ['Sec-Fetch-Mode', 'no-cors', 'Content-Type', 'text/plain']],
    ['empty', ['Sec-Fetch-Mode', 'cors', 'Accept', '*/*']],
  ] as const)
    it(`says that a script asked by ${means}`, () => {
      expect(trail(asked('empty', headers))?.dest).to.equal(means);
      expect(trail(asked('image', headers))?.dest).to.equal('image');
    });

  it('says which other origin a script asked from, and no more of its page', () => {
    const from = (origin: string): NavigationHints | null =>
      trail(asked('empty', ['Origin', origin, 'Referer', `${origin}/secret?a=1`], 'same-site'));
    expect(from('http://localhost:5173')).to.deep.equal({
      location: null,
      referrer: 'http://localhost:5173',
      dest: 'empty',
    });
    for (const origin of ['null', 'file://x', 'http://a b', `http://${'x'.repeat(600)}`, 'http://a/b'])
      expect(from(origin), origin).to.equal(null);
  });

  it('keeps no referrer of a document, nor what another origin embeds', () => {
    expect(trail(asked('document', ['Referer', `${ORIGIN}/`]))).to.include({
      dest: 'document',
      referrer: null,
    });
    const embedded = ['Origin', 'https://other.example', 'Referer', 'https://other.example/'];
    expect(trail(asked('image', embedded, 'cross-site'))).to.equal(null);
    expect(trail(asked('<script>'))).to.equal(null);
  });
});
