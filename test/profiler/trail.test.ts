import { expect } from 'chai';
import { Context } from '../../app/profiler/context.ts';
import { type Trail, trailOf } from '../../app/profiler/trail.ts';
import { type Recorded, requestFact, responseFact } from '../support/page-fixture.ts';

function trail(given: Recorded): Trail | null {
  const context = new Context({ token: '000001', kind: given.kind ?? 'request' });
  context.add('request', requestFact(given));
  context.add('response', responseFact(given));
  return trailOf(context);
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

  it('keeps no referrer of a document, nor anything of another origin', () => {
    expect(trail(asked('document', ['Referer', `${ORIGIN}/`]))).to.include({
      dest: 'document',
      referrer: null,
    });
    expect(trail(asked('image', ['Referer', 'https://other.example/'], 'cross-site'))).to.equal(null);
    expect(trail(asked('<script>'))).to.equal(null);
  });
});
