import { expect } from 'chai';
import express from 'express';
import { ServerResponse } from 'node:http';
import { createSharedMethods } from '../../../app/middleware/node-22/shared-methods.ts';

/** A response as the application has made it its own. */
function responseOf(app: express.Express): ServerResponse {
  const res = new ServerResponse({ method: 'GET' } as never);
  return Object.setPrototypeOf(res, app.response as object) as ServerResponse;
}

function setUp() {
  const emitted: string[] = [];
  const shared = createSharedMethods((methods) =>
    Object.assign(Object.create(methods) as typeof methods, {
      emit: function (this: ServerResponse, event: string) {
        emitted.push(event);
        return Reflect.apply(methods.emit, this, [event]);
      } as ServerResponse['emit'],
    }),
  );
  return { shared, emitted };
}

describe('the methods that responses of an application share', () => {
  it('are replaced once, on the outermost application, and put back', () => {
    const { shared, emitted } = setUp();
    const outer = express();
    const inner = express();
    outer.use('/inner', inner);
    const res = responseOf(inner);
    expect(shared.of(res)).to.not.equal(null);
    expect(shared.of(responseOf(outer))).to.equal(shared.of(res));
    expect(Object.hasOwn(outer.response as object, 'emit')).to.equal(true);
    expect(Object.hasOwn(inner.response as object, 'emit')).to.equal(false);
    expect(Object.keys(res)).to.not.include('emit');
    res.emit('finish');
    expect(emitted).to.deep.equal(['finish']);
    shared.restore();
    expect(Object.hasOwn(outer.response as object, 'emit')).to.equal(false);
    res.emit('close');
    expect(emitted).to.deep.equal(['finish']);
  });

  it('are none for a response of node:http, nor for a first one that was wrapped already', () => {
    const { shared } = setUp();
    expect(shared.of(new ServerResponse({ method: 'GET' } as never))).to.equal(null);
    const app = express();
    const wrapped = responseOf(app);
    const { write } = wrapped;
    wrapped.write = write;
    expect(shared.of(wrapped)).to.equal(null);
    expect(shared.of(responseOf(app))).to.not.equal(null);
    shared.restore();
  });

  it('are listed, named and counted as those of node:http', () => {
    const { shared } = setUp();
    const app = express();
    const res = responseOf(app);
    const look = (): unknown[] => {
      const listed: unknown[] = [];
      for (const name in res) listed.push(name);
      const methods = [res.writeHead, res.write, res.end, res.setHeader];
      return [listed.sort(), methods.map(({ name, length }) => [name, length])];
    };
    const before = look();
    expect(shared.of(res)).to.not.equal(null);
    expect(look()).to.deep.equal(before);
    shared.restore();
  });

  it('are none where a host has frozen its own', () => {
    const { shared } = setUp();
    const frozen = express();
    Object.freeze(frozen.response);
    expect(shared.of(responseOf(frozen))).to.equal(null);
    const fixed = express();
    Object.defineProperty(fixed.response, 'end', { value: ServerResponse.prototype.end });
    expect(shared.of(responseOf(fixed))).to.equal(null);
    expect(Object.hasOwn(fixed.response as object, 'write')).to.equal(false);
  });

  it('leave alone what somebody else has replaced since, and call what is inherited by then', () => {
    const { shared, emitted } = setUp();
    const app = express();
    shared.of(responseOf(app));
    const base = Object.getPrototypeOf(app.response as object) as { emit?: unknown };
    base.emit = () => 'theirs';
    expect(responseOf(app).emit('x')).to.equal('theirs');
    expect(emitted).to.deep.equal(['x']);
    Reflect.deleteProperty(base, 'emit');
    const target = app.response as unknown as { write: unknown };
    const theirs = (): boolean => true;
    target.write = theirs;
    shared.restore();
    expect(target.write).to.equal(theirs);
  });
});
