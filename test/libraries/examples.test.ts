/** The applications of examples/ in other frameworks, with the package as npm gets it: `npm run examples` installs them. */
import { expect } from 'chai';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { ExceptionData } from '../../app/panels/exception/data.ts';
import type { GraphqlData } from '../../app/panels/graphql/index.ts';
import type { SpansData } from '../../app/panels/spans/index.ts';

interface Profile {
  route: string | null;
  panels: Record<string, { data: unknown } | undefined>;
}

interface Answer {
  status: number;
  body: string;
  profile: Profile;
}

type Ask = (path: string, init?: RequestInit) => Promise<Answer>;

/** Starts an example for the tests around it. */
function withExample(name: string): Ask {
  const folder = `examples/${name}`;
  let child: ChildProcess;
  let origin: string;

  before(async () => {
    child = spawn('npm', ['start', '--silent'], {
      cwd: folder,
      detached: true,
      env: { PATH: process.env.PATH, PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: child.stdout! });
    for await (const line of lines)
      if (line.startsWith('http://')) {
        origin = new URL(line).origin;
        break;
      }
    child.stdout!.resume();
    expect(origin, `${name} names its address`).to.be.a('string');
  });
  after(async () => {
    if ((child as ChildProcess | undefined)?.exitCode !== null) return;
    // npm does not pass a signal on: its whole group gets it.
    process.kill(-child.pid!, 'SIGTERM');
    await once(child, 'exit');
  });

  return async (path, init) => {
    const response = await fetch(origin + path, init);
    const body = await response.text();
    const token = response.headers.get('x-debug-token');
    const json = await (await fetch(`${origin}/_profiler/${token}.json`)).json();
    return { status: response.status, body, profile: (json as { profile: Profile }).profile };
  };
}

function namesOf({ panels }: Profile): string[] {
  return (panels.spans?.data as SpansData | null)?.items.map(({ name }) => name) ?? [];
}

function thrownIn({ panels }: Profile): (string | undefined)[] {
  const { errors = [] } = (panels.exception?.data ?? {}) as Partial<ExceptionData>;
  return errors.map(({ thrown }) => thrown.chain[0]?.message);
}

/** Files of own frames, innermost first. */
function placesIn({ panels }: Profile): string[] {
  const { errors = [] } = (panels.exception?.data ?? {}) as Partial<ExceptionData>;
  const frames = errors.flatMap(({ thrown }) => thrown.chain[0]?.frames ?? []);
  return frames.filter(({ kind }) => kind === 'own').map(({ file }) => String(file));
}

describe('the example of NestJS', () => {
  const ask = withExample('nest');

  it('shows guard, interceptor, pipe and controller, at their lines of TypeScript', async () => {
    const { body, profile } = await ask('/parcels/1');
    expect(JSON.parse(body)).to.deep.equal({ data: { id: 1, content: 'Kettle' } });
    expect(profile.route).to.equal('/parcels/:id');
    const { items } = profile.panels.spans?.data as SpansData;
    expect(items.map(({ name, caller }) => [name, caller])).to.have.deep.members([
      ['Guard ClosedGuard', 'src/parcels.controller.ts:20'],
      ['Interceptor EnvelopeInterceptor', 'src/parcels.controller.ts:27'],
      ['Controller ParcelsController.find', 'src/parcels.controller.ts:41'],
      ['Pipe ParseIntPipe (id)', null],
    ]);
  });

  it('shows what a service threw, at its line of TypeScript', async () => {
    const { status, profile } = await ask('/parcels/9');
    expect(status).to.equal(404);
    expect(thrownIn(profile)).to.deep.equal(['No parcel 9']);
    expect(placesIn(profile)[0]).to.equal('src/parcels.service.ts');
  });
});

describe('the example of Apollo Server', () => {
  const ask = withExample('apollo');
  const run = (query: string) =>
    ask('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });

  it('shows operation and resolvers', async () => {
    const { body, profile } = await run('query Shelf { books { title stock } }');
    expect(body).to.include('Emma');
    expect(profile.route).to.equal('/graphql · Shelf');
    const [operation] = (profile.panels.graphql?.data as GraphqlData).items;
    expect(operation?.resolvers.map(({ field, calls }) => [field, calls])).to.deep.equal([
      ['Query.books', 1],
      ['Book.stock', 2],
    ]);
  });

  it('shows what a resolver threw, and what was refused before it ran', async () => {
    expect(thrownIn((await run('{ author(name: "Bob") }')).profile)).to.deep.equal(['No author Bob']);
    const { status, profile } = await run('query Wrong { nothing }');
    expect(status).to.equal(400);
    expect(thrownIn(profile)).to.deep.equal(['Cannot query field "nothing" on type "Query".']);
    const { items: operations } = profile.panels.graphql?.data as GraphqlData;
    expect(operations.map(({ document }) => document)).to.deep.equal(['query Wrong { nothing }']);
  });
});

describe('the example of Feathers', () => {
  const ask = withExample('feathers');

  it('shows the method of the service', async () => {
    const { body, profile } = await ask('/messages/1');
    expect(JSON.parse(body)).to.deep.equal({ id: 1, text: 'Hello' });
    expect(profile.route).to.include('messages.get');
    expect(namesOf(profile)).to.deep.equal(['messages.get']);
  });

  it('shows what it threw', async () => {
    expect(thrownIn((await ask('/messages/9')).profile)).to.deep.equal(['No message 9']);
    // Feathers removes the stack of a 404.
    const { status, profile } = await ask('/messages', { method: 'POST' });
    expect(status).to.equal(500);
    expect(placesIn(profile)[0]).to.equal('server.js');
  });
});

describe('the example of LoopBack', () => {
  const ask = withExample('loopback');

  it('shows the method of the controller', async () => {
    const { body, profile } = await ask('/api/greet/Ada');
    expect(body).to.equal('Hello, Ada');
    expect(profile.route).to.include('GreetingController.prototype.greet');
    expect(namesOf(profile)).to.deep.equal(['GreetingController.prototype.greet']);
  });

  it('shows that it failed', async () => {
    const { status, profile } = await ask('/api/greet/nobody');
    expect(status).to.equal(404);
    const [span] = (profile.panels.spans?.data as SpansData).items;
    expect(span?.error).to.equal('Error: Nobody is here');
  });
});
