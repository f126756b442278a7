import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import ejs from 'ejs';
import { buildSync, type BuildOptions } from 'esbuild';
import { createErrorDescriber } from '../../app/observe/errors.ts';
import { createSourceFiles } from '../../app/observe/stacks/source-files.ts';
import { createSourceMaps } from '../../app/observe/stacks/source-maps.ts';
import { packageRoot } from '../../app/paths.ts';
import { failureText } from '../../app/profiler/record/thrown-value.ts';
import type { Thrown, ThrownFrame, ThrownLink } from '../../app/profiler/record/thrown.ts';
import { cpuMsOf, until } from '../support/waiting.ts';
import { freshFolder } from '../support/fresh-folder.ts';

function describerOf(root: string, foreignFolders: readonly string[] = []) {
  const files = createSourceFiles({ roots: [root] });
  return createErrorDescriber({ root, files, maps: createSourceMaps({ files }), foreignFolders });
}

const describeThrown = describerOf(packageRoot());

function top(value: unknown): ThrownLink {
  const [link] = describeThrown(value).chain;
  if (link === undefined) throw new Error('the chain is empty');
  return link;
}

/** An error with a stack of our making. */
function withStack(lines: readonly string[], message = 'm'): Error {
  const error = new Error(message);
  error.stack = [`Error: ${message}`, ...lines.map((line) => `    at ${line}`)].join('\n');
  return error;
}

function framesOf(lines: readonly string[], describe = describeThrown): ThrownFrame[] {
  return describe(withStack(lines)).chain[0]?.frames ?? [];
}

describe('describing what was thrown', () => {
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const cyclic = new Error('cyclic');
  cyclic.cause = cyclic;
  const hostile: Record<string, { value: unknown; class: string; message: string | RegExp }> = {
    null: { value: null, class: 'null', message: 'null' },
    undefined: { value: undefined, class: 'undefined', message: 'undefined' },
    'a string': { value: 'no', class: 'string', message: 'no' },
    'a bigint': { value: 5n, class: 'bigint', message: '5' },
    'a symbol': { value: Symbol('s'), class: 'symbol', message: 'Symbol(s)' },
    'a function': { value: () => 1, class: 'Function', message: /function/ },
    'a plain object': { value: { a: 1 }, class: 'Object', message: '{"a":1}' },
    'an object without prototype': { value: Object.create(null), class: 'Object', message: '{}' },
    'a frozen error': {
      value: Object.freeze(new RangeError('frozen')),
      class: 'RangeError',
      message: 'frozen',
    },
    'an error of another realm': {
      value: runInNewContext('new TypeError("realm")'),
      class: 'TypeError',
      message: 'realm',
    },
    'a revoked proxy': { value: revoked.proxy, class: 'Object', message: /./ },
    'a proxy whose traps throw': {
      value: new Proxy(new Error('inside'), {
        get() {
          throw new Error('trap');
        },
        getPrototypeOf() {
          throw new Error('trap');
        },
        ownKeys() {
          throw new Error('trap');
        },
        has() {
          throw new Error('trap');
        },
      }),
      class: 'Object',
      message: /./,
    },
    'an object whose getters throw': {
      value: Object.defineProperties(
        {},
        Object.fromEntries(
          ['message', 'name', 'stack', 'cause', 'code', 'status', 'errors', 'toString', 'toJSON', 'then'].map(
            (name) => [
              name,
              {
                enumerable: true,
                get() {
                  throw new Error('getter');
                },
              },
            ],
          ),
        ),
      ),
      class: 'Object',
      message: /./,
    },
    'an error whose name is no text': {
      value: Object.assign(new Error('m'), { name: 5 }),
      class: 'Error',
      message: 'm',
    },
    'an error whose message is no text': {
      value: Object.assign(new Error('x'), { message: { a: 1 } }),
      class: 'Error',
      message: '',
    },
    'an error whose stack is no text': {
      value: Object.assign(new Error('m'), { stack: 7 }),
      class: 'Error',
      message: 'm',
    },
    'an error that is its own cause': { value: cyclic, class: 'Error', message: 'cyclic' },
  };

  for (const [name, { value, class: className, message }] of Object.entries(hostile)) {
    it(`reads ${name}`, () => {
      const thrown = describeThrown(value);
      const [link] = thrown.chain;
      expect(link?.class).to.equal(className);
      if (typeof message === 'string') expect(link?.message).to.equal(message);
      else expect(link?.message).to.match(message);
      expect(JSON.parse(JSON.stringify(thrown))).to.deep.equal(thrown);
    });
  }

  it('finds the line of an object that is no Error, if it was given a stack', () => {
    const value = { message: 'given' };
    Error.captureStackTrace(value);
    const [link] = describeThrown(value).chain;
    expect(link).to.include({ isError: true, message: 'given' });
    expect(link?.frames[0]?.file).to.equal('test/observe/errors.test.ts');
  });

  it('cuts a message of ten megabytes, counts the rest and still finds the frames', () => {
    const error = new Error('x'.repeat(10_000_000));
    expect(cpuMsOf(() => top(error))).to.be.lessThan(1000);
    const link = top(error);
    expect(link.message).to.have.length(8192);
    expect(link.messageTruncated).to.equal(10_000_000 - 8192);
    expect(link.frames[0]?.file).to.equal('test/observe/errors.test.ts');
  });

  it('names the class that was made where the name was left as it is', () => {
    class CheckoutError extends Error {}
    expect(top(new CheckoutError('m')).class).to.equal('CheckoutError');
    expect(top(Object.assign(new Error('m'), { name: 'ValidationError' })).class).to.equal('ValidationError');
  });

  it('keeps code, status and own properties, and runs none of their getters', () => {
    let ran = false;
    const error = Object.assign(new Error('m'), {
      code: 'E_X',
      statusCode: 422,
      cartId: 7,
      deep: { list: [1, 2] },
    });
    Object.defineProperty(error, 'lazy', {
      enumerable: true,
      get() {
        ran = true;
        return 1;
      },
    });
    const { code, status, properties } = top(error);
    expect({ code, status, properties }).to.deep.equal({
      code: 'E_X',
      status: 422,
      properties: { cartId: 7, deep: { list: [1, 2] }, lazy: '[getter]' },
    });
    expect(ran).to.equal(false);
  });

  it('takes what a library kept as `original` for the cause, if the error has no frame of own code', () => {
    const original = new RangeError('inner');
    const wrapped = Object.assign(withStack(['wrap (/x/node_modules/bolt/index.js:1:1)']), { original });
    expect(describeThrown(wrapped).chain.map(({ message }) => message)).to.deep.equal(['m', 'inner']);
    expect(describeThrown(Object.assign(new Error('own'), { original })).chain).to.have.length(1);
    expect(describeThrown(Object.assign(wrapped, { original: 'text' })).chain).to.have.length(1);
  });

  it('takes an empty object for no cause', () => {
    for (const [cause, links] of [
      [{}, 1],
      [{ why: 'x' }, 2],
      [[], 2],
    ] as const)
      expect(describeThrown(new Error('got', { cause })).chain).to.have.length(links);
  });

  it('keeps the outer and the inner causes of a long chain', () => {
    let long = new Error('root');
    for (let index = 0; index < 100; index++) long = new Error(`link ${index}`, { cause: long });
    const { chain, chainEnd } = describeThrown(long);
    expect(chain.map(({ message }) => message)).to.deep.equal([
      ...['link 99', 'link 98', 'link 97'],
      ...['link 5', 'link 4', 'link 3', 'link 2', 'link 1', 'link 0', 'root'],
    ]);
    expect(chain.map(({ skipped }) => skipped ?? 0)).to.deep.equal([0, 0, 0, 91, 0, 0, 0, 0, 0, 0]);
    expect(chainEnd).to.equal('root');
  });

  it('enters no proxy, be it thrown, a cause, a prototype or a property', () => {
    let entered = 0;
    const note = (): never => {
      entered++;
      throw new Error('entered');
    };
    const traps = {
      get: note,
      has: note,
      ownKeys: note,
      getPrototypeOf: note,
      getOwnPropertyDescriptor: note,
    };
    const proxy = new Proxy(new Error('inside'), traps);
    // Node.js writes the stack when it is first read, and asks for the name then.
    const inherits = withStack(['x (/a.js:1:1)'], 'known');
    Object.setPrototypeOf(inherits, new Proxy(Error.prototype, traps));
    const cause = new Error('outer', { cause: proxy });
    const member = Object.assign(new AggregateError([proxy, new Error('one')], 'all'), { proxy });
    for (const value of [proxy, inherits, cause, member]) describeThrown(value);
    expect(entered).to.equal(0);
    expect(top(inherits).message).to.equal('known');
    expect(top(member).properties).to.deep.equal({
      proxy: '[Proxy, not read]',
      errors: ['[Proxy, not read]'],
    });
  });

  it('reads a computed message, as of zod, and runs no other getter', () => {
    let ran = 0;
    class Computed extends Error {
      override get message(): string {
        return 'computed';
      }
      get code(): string {
        ran++;
        return 'E';
      }
    }
    const link = top(new Computed());
    expect([link.message, link.code, ran]).to.deep.equal(['computed', null, 0]);
    expect(top(new DOMException('gone', 'AbortError'))).to.include({
      class: 'AbortError',
      message: 'gone',
      code: 20,
    });
  });

  it('keeps what validators report: lists and objects of errors, with path, kind and value', () => {
    const list = [{ path: '/email', message: 'must be an email' }];
    expect(top(Object.assign(new Error('m'), { errors: list, status: 422 }))).to.deep.include({
      status: 422,
      errors: [],
      errorsDropped: 0,
      properties: { errors: list },
    });
    const qty = Object.assign(new TypeError('too small'), { kind: 'min', path: 'qty', value: -1 });
    expect(top(Object.assign(new Error('m'), { errors: { qty } })).properties).to.deep.equal({
      errors: { qty: { class: 'TypeError', message: 'too small', kind: 'min', path: 'qty', value: -1 } },
    });
    const mixed = top(new AggregateError([qty, ...list, 'text'], 'mixed'));
    expect(mixed.errors.map(({ chain }) => chain[0]?.message)).to.deep.equal(['too small']);
    expect(mixed.properties).to.deep.equal({ errors: [...list, 'text'] });
    const many = Array.from({ length: 60 }, (_, path) => ({ path }));
    expect(JSON.stringify(top(Object.assign(new Error('m'), { errors: many })).properties)).to.contain(
      '20 more',
    );
  });

  it('keeps a code and a status of any type', () => {
    const odd = Object.assign(new Error('m'), { status: 'fail', statusCode: 422, code: { n: 1 } });
    expect(top(odd)).to.deep.include({
      status: 422,
      code: null,
      properties: { status: 'fail', code: { n: 1 } },
    });
  });

  it('says what the members of an error without a message say, or its code', () => {
    const refused = ['::1:1', '127.0.0.1:1'].map((at) => new Error(`connect ECONNREFUSED ${at}`));
    const error = Object.assign(new AggregateError(refused), { code: 'ECONNREFUSED' });
    expect(top(error).message).to.equal('connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1');
    expect(top(Object.assign(new Error(), { code: 'ETIMEDOUT' })).message).to.equal('ETIMEDOUT');
    expect(failureText(error)).to.match(/^AggregateError: connect ECONNREFUSED ::1:1;/);
  });

  it('lists the error that a failed disposal suppressed, before that of the disposal', () => {
    const [first, second] = [new Error('of the request'), new Error('of the disposal')];
    // As TypeScript makes it if the class is missing; its own properties are not enumerable.
    const compiled = Object.assign(new Error('suppressed'), { error: second, suppressed: first });
    compiled.name = 'SuppressedError';
    const { SuppressedError: Native } = globalThis as {
      SuppressedError?: new (error: unknown, suppressed: unknown, message: string) => Error;
    };
    for (const error of [
      compiled,
      ...(Native === undefined ? [] : [new Native(second, first, 'suppressed')]),
    ]) {
      const { errors, properties } = top(error);
      expect(errors.map(({ chain }) => chain[0]?.message)).to.deep.equal([
        'of the request',
        'of the disposal',
      ]);
      expect(properties).not.to.have.any.keys('error', 'suppressed');
    }
  });

  it('lists the members of an AggregateError, within bounds and without cycles', () => {
    const inner = new AggregateError([new Error('deep')], 'inner');
    const outer = new AggregateError([new Error('one', { cause: 'why' }), inner], 'outer');
    inner.errors.push(outer);
    const link = top(outer);
    expect(link.errors.map((thrown: Thrown) => thrown.chain.map(({ message }) => message))).to.deep.equal([
      ['one', 'why'],
      ['inner'],
    ]);
    expect(link.errors[1]?.chain[0]?.errors).to.have.length(1);
    const wide = top(
      new AggregateError(Array.from({ length: 5000 }, (_value, index) => new Error(String(index)))),
    );
    expect(wide.errors.length + wide.errorsDropped).to.equal(5000);
    expect(wide.errors.length).to.be.at.most(10);
  });
});

describe('frames', () => {
  const root = packageRoot();

  it('tells own, vendor, node and native code apart, and awaited frames', () => {
    const frames = framesOf([
      `async place (file://${root}/app/urls.ts?x=1:3:5)`,
      `new Layer (${root}/node_modules/@scope/router/lib/layer.js:152:17)`,
      'process.processTicksAndRejections (node:internal/process/task_queues:105:5)',
      'Array.map (<anonymous>)',
      'async Promise.all (index 0)',
      '/somewhere/else/a.js:1:2',
      `Object.<anonymous> (${root}/app/a (copy).ts:1:2)`,
      `eval (eval at run (${root}/app/paths.ts:4:9), <anonymous>:1:1)`,
    ]);
    expect(
      frames.map(({ function: name, file, line, column, kind, package: owner, async }) =>
        [name, file, line, column, kind, owner, async].join(' '),
      ),
    ).to.deep.equal([
      'place app/urls.ts 3 5 own  true',
      'new Layer node_modules/@scope/router/lib/layer.js 152 17 vendor @scope/router false',
      'process.processTicksAndRejections node:internal/process/task_queues 105 5 node  false',
      'Array.map    native  false',
      'Promise.all    native  true',
      ' /somewhere/else/a.js 1 2 own  false',
      ' app/a (copy).ts 1 2 own  false',
      'eval app/paths.ts 4 9 own  false',
    ]);
  });

  it('names the file of a module that webpack evaluated, without a line', () => {
    const frames = framesOf([
      'POST (webpack-internal:///(rsc)/./app/urls.ts:13:23)',
      'load (webpack-internal:///./app/urls.ts:1:1)',
      'eval (webpack://shop/./app/urls.ts?:2:125)',
      'next (webpack://shop/./node_modules/mocha/index.js?:163:13)',
      'POST (webpack-internal:///(rsc)/./app/absent.ts:13:23)',
      'async run (webpack-internal:///(rsc)/../node_modules/next/loader.js?name=./app/urls.ts:1:1)',
    ]);
    expect(frames.map(({ file, line, kind }) => [file, line, kind])).to.deep.equal([
      ['app/urls.ts', null, 'own'],
      ['app/urls.ts', null, 'own'],
      ['app/urls.ts', null, 'own'],
      ['webpack://shop/./node_modules/mocha/index.js?', 163, 'vendor'],
      ['webpack-internal:///(rsc)/./app/absent.ts', 13, 'vendor'],
      ['webpack-internal:///(rsc)/../node_modules/next/loader.js?name=./app/urls.ts', 1, 'vendor'],
    ]);
  });

  it('takes folders that are not the developer’s for foreign', () => {
    const describeForeign = describerOf(root, ['app/profiler/']);
    const [ours, theirs] = framesOf(
      [`${root}/app/profiler/context.ts:1:1`, `${root}/app/urls.ts:1:1`],
      describeForeign,
    );
    expect(ours?.kind).to.equal('vendor');
    expect(theirs?.kind).to.equal('own');
  });

  it('takes no line of the message for a frame', () => {
    const line = `\n    at stolen (${root}/app/config.ts:1:1)`;
    const names = (error: Error): (string | null)[] =>
      describeThrown(error).chain[0]?.frames.map((frame) => frame.function) ?? [];
    expect(names(new Error(`asked for${line}`))).not.to.include('stolen');
    const changed = new Error('before');
    changed.message = `after${line}`;
    expect(names(changed)).not.to.include('stolen');
    expect(names(changed).length).to.be.greaterThan(0);
  });

  it('bounds frames and excerpts', () => {
    const lines = Array.from(
      { length: 300 },
      (_value, index) => `f${index} (${root}/app/urls.ts:${index + 1}:1)`,
    );
    const [link] = describeThrown(withStack(lines)).chain;
    expect(link?.frames).to.have.length(50);
    expect(link?.frames.map(({ skipped }) => skipped ?? 0).indexOf(250), '35 of the top').to.equal(35);
    expect(link?.frames.slice(33, 37).map((frame) => frame.function)).to.deep.equal([
      'f33',
      'f34',
      'f285',
      'f286',
    ]);
    expect(link?.frames.filter(({ excerpt }) => excerpt !== null).length).to.be.at.most(4);
  });

  it('names the file that node could not parse', () => {
    const error = new SyntaxError("Unexpected token ';'");
    error.stack = `${root}/app/urls.ts:7\nconst x = ;\n          ^\n\nSyntaxError: Unexpected token ';'\n    at wrapSafe (node:internal/modules/cjs/loader:1281:20)`;
    const [frame] = describeThrown(error).chain[0]?.frames ?? [];
    expect(`${frame?.file ?? ''}:${frame?.line ?? ''}`).to.equal('app/urls.ts:7');
    expect(frame?.excerpt).not.to.equal(null);
  });
});

describe('what may be read for an excerpt', () => {
  let folder: string;
  let root: string;

  before(() => {
    folder = realpathSync(freshFolder());
    root = join(folder, 'app');
    mkdirSync(join(root, '.hidden'), { recursive: true });
    mkdirSync(join(root, 'folder.js'));
    writeFileSync(join(root, 'own.js'), 'own();\n');
    for (const name of ['.env', '.env.js', 'secret.json', 'data.txt', '.hidden/a.js'])
      writeFileSync(join(root, name), 'SECRET\n');
    writeFileSync(join(root, 'large.js'), `${'x'.repeat(3 * 1024 * 1024)}\n`);
    writeFileSync(join(folder, 'outside.js'), 'SECRET\n');
    symlinkSync(join(folder, 'outside.js'), join(root, 'link.js'));
    symlinkSync(join(root, 'data.txt'), join(root, 'text.js'));
    symlinkSync(root, join(folder, 'linked-root'));
  });

  it('is source code below the root', () => {
    const [frame] = framesOf([`f (${root}/own.js:1:1)`], describerOf(root));
    expect(frame?.excerpt?.lines[0]).to.equal('own();');
  });

  it('is found also where the root is reached through a link', () => {
    const [frame] = framesOf([`f (${root}/own.js:1:1)`], describerOf(join(folder, 'linked-root')));
    expect(frame?.file).to.equal('own.js');
    expect(frame?.excerpt?.lines[0]).to.equal('own();');
  });

  const refused = [
    '/etc/passwd',
    '/proc/self/environ',
    '{root}/../outside.js',
    '{root}/link.js',
    '{root}/text.js',
    '{root}/.env',
    '{root}/.env.js',
    '{root}/.hidden/a.js',
    '{root}/secret.json',
    '{root}/data.txt',
    '{root}/folder.js',
    '{root}/large.js',
    '{root}/missing.js',
    '{root}/own.js\0.txt',
  ];
  for (const name of refused) {
    it(`is never ${JSON.stringify(name)}, which a forged stack may name`, () => {
      const describeBelow = describerOf(root);
      const path = name.replace('{root}', root);
      const thrown = describeBelow(withStack([`f (${path}:1:1)`, `g (file://${path}:1:1)`]));
      expect(JSON.stringify(thrown)).not.to.include('SECRET');
      expect(thrown.chain[0]?.frames.every(({ excerpt }) => excerpt === null)).to.equal(true);
    });
  }

  it('is the line of a template that failed', async () => {
    const file = join(root, 'page.ejs');
    writeFileSync(file, '<h1>Order</h1>\n<p><%= order.total %></p>\n');
    let thrown: unknown;
    await ejs.renderFile(file, {}).catch((error: unknown) => {
      thrown = error;
    });
    const [frame] = describerOf(root)(thrown).chain[0]?.frames ?? [];
    expect(`${frame?.file ?? ''}:${frame?.line ?? ''}`).to.equal('page.ejs:2');
    expect(frame?.excerpt?.lines[1]).to.equal('<p><%= order.total %></p>');
  });

  it('is never a file that the message names', () => {
    const thrown = describerOf(root)(new Error(`${root}/own.js:1\n >> 1| x`));
    expect(JSON.stringify(thrown.chain[0]?.frames)).not.to.include('own();');
  });

  it('is read anew when it changed', async () => {
    const describeBelow = describerOf(root);
    const file = join(root, 'changing.js');
    const firstLine = () => framesOf([`${file}:1:1`], describeBelow)[0]?.excerpt?.lines[0];
    writeFileSync(file, 'before();\n');
    expect(firstLine()).to.equal('before();');
    writeFileSync(file, 'afterwards();\n');
    await until(() => firstLine() === 'afterwards();', 'the excerpt is that of the changed file');
  });

  it('is marked if the file was changed after the process had started, unless it is a template', () => {
    const isMarked = (name: string, changedAt: Date): boolean => {
      const file = join(root, name);
      writeFileSync(file, 'now();\n');
      utimesSync(file, changedAt, changedAt);
      return framesOf([`${file}:1:1`], describerOf(root))[0]?.excerpt?.isChanged === true;
    };
    const beforeStart = new Date(Date.now() - (process.uptime() + 60) * 1000);
    expect(isMarked('loaded.js', beforeStart)).to.equal(false);
    expect(isMarked('changed.js', new Date())).to.equal(true);
    expect(isMarked('changed.ejs', new Date())).to.equal(false);
  });
});

describe('source maps', () => {
  let root: string;
  const source = [
    'interface Reply {',
    '  amount?: { minor: number };',
    '}',
    '',
    'export function toMoney(reply: Reply): number {',
    '  // What the gateway leaves out when it refuses the card.',
    '  return reply.amount!.minor;',
    '}',
    'toMoney({});',
    '',
  ].join('\n');

  function compile(name: string, options: Pick<BuildOptions, 'sourcemap' | 'sourcesContent'>): void {
    const entry = join(root, 'src', `${name}.ts`);
    writeFileSync(entry, source);
    buildSync({ entryPoints: [entry], outdir: join(root, 'dist', name), format: 'cjs', ...options });
  }

  /** The stack as plain node makes it, without its own mapping. */
  function stackOf(name: string): string {
    const file = join(root, 'dist', name, `${name}.js`);
    const script = `try { require(${JSON.stringify(file)}) } catch (error) { process.stdout.write(error.stack) }`;
    const { NODE_OPTIONS: _options, ...env } = process.env;
    return execFileSync(process.execPath, ['-e', script], { encoding: 'utf8', env });
  }

  function firstFrame(name: string): ThrownFrame | undefined {
    const error = new TypeError("Cannot read properties of undefined (reading 'minor')");
    error.stack = stackOf(name);
    expect(error.stack).to.include(`${name}.js:`);
    return describerOf(root)(error).chain[0]?.frames[0];
  }

  before(() => {
    root = realpathSync(freshFolder());
    mkdirSync(join(root, 'src'));
    compile('external', { sourcemap: true, sourcesContent: false });
    compile('inline', { sourcemap: 'inline' });
    mkdirSync(join(root, 'dist', 'bare'));
    const compiled = readFileSync(join(root, 'dist', 'external', 'external.js'), 'utf8');
    writeFileSync(join(root, 'dist', 'bare', 'bare.js'), compiled.replace(/\/\/# sourceMappingURL.*/, ''));
  });

  for (const kind of ['external', 'inline']) {
    it(`lead to the TypeScript that was written, ${kind}`, () => {
      const frame = firstFrame(kind);
      expect(frame?.file).to.equal(`src/${kind}.ts`);
      expect(frame?.line).to.equal(7);
      expect(frame?.kind).to.equal('own');
      expect(frame?.ranFrom).to.match(new RegExp(`^dist/${kind}/${kind}\\.js:\\d+:\\d+$`));
      expect(frame?.excerpt?.lines[7 - frame.excerpt.from]).to.equal('  return reply.amount!.minor;');
    });
  }

  it('carry the source where its file is gone', () => {
    rmSync(join(root, 'src', 'inline.ts'));
    expect(firstFrame('inline')?.excerpt?.lines.join('\n')).to.include('amount?: { minor: number };');
  });

  it('are not needed', () => {
    const frame = firstFrame('bare');
    expect(frame?.file).to.equal('dist/bare/bare.js');
    expect(frame?.ranFrom).to.equal(null);
    expect(frame?.excerpt).not.to.equal(null);
  });

  for (const [name, comment] of Object.entries({
    'a map that is no JSON': 'data:application/json;base64,e30x',
    'a map with impossible mappings': `data:application/json;base64,${Buffer.from('{"version":3,"sources":["a"],"names":[],"mappings":"!!!!"}').toString('base64')}`,
    'a map outside the root': '../../../../../../etc/passwd.map',
    'an address': 'http://127.0.0.1:1/a.js.map',
    'a broken encoding': '%zz.map',
  })) {
    it(`are left aside where the file names ${name}`, () => {
      const file = join(root, 'odd.js');
      writeFileSync(file, `odd();\n//# sourceMappingURL=${comment}\n`);
      const [frame] = framesOf([`${file}:1:1`], describerOf(root));
      expect(frame?.file).to.equal('odd.js');
      expect(frame?.excerpt?.lines[0]).to.equal('odd();');
    });
  }

  it('can not name a file outside the root as source', () => {
    const map = {
      version: 3,
      sources: ['/etc/passwd', '../../../../../../../etc/passwd'],
      names: [],
      mappings: 'AAAA',
    };
    const file = join(root, 'sly.js');
    const url = `data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`;
    writeFileSync(file, `sly();\n//# sourceMappingURL=${url}\n`);
    const thrown = describerOf(root)(withStack([`${file}:1:1`]));
    expect(JSON.stringify(thrown)).not.to.include('root:');
    expect(thrown.chain[0]?.frames[0]?.excerpt).to.equal(null);
  });
});
