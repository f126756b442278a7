/** A method that is wrapped by us and by another tracer, which takes its wrapper off and puts it on again. */
import { expect } from 'chai';
import { wrapCalls } from '../../app/observe/channels/wrap-method.ts';

type Query = (text: string) => string;

interface Shimmed extends Query {
  __original?: Query;
  __wrapped?: boolean;
  __unwrap?: () => void;
}

interface Client {
  query: Shimmed;
}

/** What `@opentelemetry/instrumentation` does to a method, for `require` and once more for `import`. */
function shim(client: Client, spans: string[]): void {
  if (client.query.__wrapped === true) client.query.__unwrap?.();
  const { query: original } = client;
  const wrapper: Shimmed = function (this: unknown, text) {
    spans.push(text);
    return Reflect.apply(original, this, [text]);
  };
  const define = (value: Shimmed): void =>
    void Object.defineProperty(client, 'query', {
      value,
      writable: true,
      configurable: true,
      enumerable: true,
    });
  const marks = {
    __original: original,
    __wrapped: true,
    __unwrap: () => client.query === wrapper && define(original),
  };
  for (const [name, value] of Object.entries(marks))
    Object.defineProperty(wrapper, name, { value, writable: true, configurable: true });
  define(wrapper);
}

describe('a method that another tracer wraps as well', () => {
  let spans: string[];
  let seen: unknown[];
  let client: Client;
  const query: Query = (text) => `rows of ${text}`;
  const observe = () =>
    wrapCalls(client, 'query', (call, _client, [text]) => {
      seen.push(text);
      return call();
    });

  beforeEach(() => {
    spans = [];
    seen = [];
    client = { query };
  });

  it('is recorded once by each, also if that one wraps it again', () => {
    shim(client, spans);
    const undo = [observe(), observe()];
    shim(client, spans);
    expect(client.query('a')).to.equal('rows of a');
    expect([spans, seen]).to.deep.equal([['a'], ['a']]);
    client.query.__unwrap?.();
    client.query('b');
    expect([spans, seen]).to.deep.equal([['a'], ['a', 'b']]);
    for (const one of undo) one?.();
    expect(client.query).to.equal(query);
  });

  it('is recorded by us alone, once the other has taken its wrapper off from below ours', () => {
    shim(client, spans);
    const undo = observe();
    client.query.__unwrap?.();
    client.query('a');
    expect([spans, seen]).to.deep.equal([[], ['a']]);
    undo?.();
    expect(client.query).to.equal(query);
  });
});
