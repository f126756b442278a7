import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { runInNewContext, runInThisContext } from 'node:vm';
import {
  type Called,
  createCallerFinder,
  sourcePosition,
  takeSites,
} from '../../app/observe/stacks/caller.ts';
import { withBuild } from '../support/build.ts';

/** A function as if a library had it: it calls what it is given. */
function libraryCode(file: string): <T>(call: () => T) => T {
  return runInThisContext('(call) => call()', { filename: file }) as <T>(call: () => T) => T;
}

const HERE = /^test\/observe\/caller\.test\.ts:\d+$/;

describe('the caller in own code', () => {
  const find = createCallerFinder();
  /** Without a frame of its own. */
  const asked: () => string | null = find.bind(null, { skip: 'express' });

  it('is the nearest line of own code, and another one for another line', () => {
    const first = asked();
    const second = asked();
    expect(first).to.match(HERE);
    expect(second).to.match(HERE);
    expect(second).to.not.equal(first);
  });

  it('has the lines that led there, also those that await, from the same stack', async () => {
    const load = async () => {
      await Promise.resolve();
      return find.called({ isOwn: true });
    };
    const list = async () => {
      const loaded = await load();
      return loaded;
    };
    const found = await list();
    const lines = [found?.caller ?? '', ...(found?.path ?? [])];
    for (const line of lines) expect(line).to.match(HERE);
    const [first = 0, ...others] = lines.map((line) => Number(line.split(':')[1]));
    expect(others.map((line) => line - first)).to.deep.equal([3, 6]);
  });

  it('has the nearest lines that led there, and the first one, without those of libraries or of code before a layer', () => {
    const stackOf = (names: readonly string[]): string =>
      ['Error', ...names.map((name, at) => `    at run (${process.cwd()}/${name}:${at + 1}:1)`)].join('\n');
    const own = Array.from({ length: 9 }, (_of, at) => `src/${at}.ts`);
    const found = find.called({
      stack: stackOf([own[0] ?? '', 'node_modules/pg/index.js', ...own.slice(1)]),
    });
    expect(found).to.deep.equal({
      caller: 'src/0.ts:1',
      path: ['src/1.ts:3', 'src/2.ts:4', 'src/3.ts:5', 'src/4.ts:6', 'src/8.ts:10'],
    });
    const layer = `    at hindsightLayer (${process.cwd()}/app/observe/layers/layers.ts:9:1)`;
    const [head = '', ...rest] = stackOf(own.slice(0, 3)).split('\n');
    expect(
      find.called({ stack: [head, ...rest.slice(0, 2), layer, ...rest.slice(2)].join('\n') })?.path,
    ).to.deep.equal(['src/1.ts:2']);
  });

  it('is found behind many frames of libraries', () => {
    const express = libraryCode('/app/node_modules/express/lib/response.js');
    const many = Array.from({ length: 30 }).reduce<() => string | null>(
      (call) => express.bind(null, call) as () => string | null,
      asked,
    );
    expect(many()).to.match(HERE);
  });

  it('has the lines that led there, however many frames of libraries come before it', () => {
    const express = libraryCode('/app/node_modules/express/lib/response.js');
    const behind = (frames: number) => {
      const many = Array.from({ length: frames }).reduce<() => Called | null>(
        (call) => express.bind(null, call) as () => Called | null,
        find.called.bind(null, { skip: 'express' }),
      );
      const query = () => many();
      return query();
    };
    const near = behind(1);
    expect(near?.path).to.have.length.above(1);
    for (let frames = 8; frames < 30; frames++) expect(behind(frames)?.path?.[0]).to.equal(near?.path?.[0]);
  });

  it('is a library only where no own code is, and never the one that is skipped', async () => {
    const askedBy = (library: string): Promise<string | null> =>
      new Promise((resolve) => {
        const run = runInThisContext('(ask, done) => setImmediate(function run() { done(ask()); })', {
          filename: `/app/node_modules/${library}/index.js`,
        }) as (ask: () => string | null, done: (place: string | null) => void) => void;
        run(asked, resolve);
      });
    expect(await askedBy('tool')).to.equal('/app/node_modules/tool/index.js:1');
    expect(await askedBy('express')).to.equal(null);
    expect(await askedBy('express-pool')).to.equal(null);
  });

  it('is express-session where its own end of the response touches the session, and not the line that sent it', () => {
    const session = '/app/node_modules/express-session/index.js';
    const run = (name: string) =>
      runInThisContext(`(call) => { function ${name}() { return call(); } return ${name}(); }`, {
        filename: session,
      }) as (call: () => string | null) => string | null;
    expect(run('end')(asked)).to.equal(`${session}:1`);
    expect(run('regenerate')(asked)).to.match(HERE);
  });

  it('is the file of code that was transformed and evaluated, whose lines are not known; of a view, what calls it', () => {
    const evaluated = (file: string): string | null => {
      const source = JSON.stringify(`(call) => call()\n//# sourceURL=${file}`);
      const run = runInThisContext(`(0, eval)(${source})`) as (call: () => string | null) => string | null;
      return run(asked);
    };
    expect(evaluated(`${process.cwd()}/app/routes/orders.tsx`)).to.equal('app/routes/orders.tsx');
    expect(evaluated(`${process.cwd()}/src/Shop.vue?macro=true`)).to.equal('src/Shop.vue');
    expect(evaluated('webpack-internal:///./app/routes/orders.ts')).to.equal('app/routes/orders.ts');
    expect(evaluated('webpack://shop/./app/routes/orders.ts?')).to.equal('app/routes/orders.ts');
    expect(evaluated('webpack-internal:///(rsc)/./node_modules/tool/index.js?e1')).to.match(HERE);
    expect(evaluated(`${process.cwd()}/views/orders.ejs`)).to.match(HERE);
    expect(evaluated('/node_modules/tool/index.mjs')).to.match(HERE);
  });

  it('leaves the settings of Error alone', () => {
    const { prepareStackTrace, stackTraceLimit } = Error;
    asked();
    expect(Error.prepareStackTrace).to.equal(prepareStackTrace);
    expect(Error.stackTraceLimit).to.equal(stackTraceLimit);
  });

  it('is none if the application has replaced functions of Error by some that throw', () => {
    const { captureStackTrace } = Error;
    const prepare = Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace');
    const fail = (): never => {
      throw new Error('of the application');
    };
    try {
      Error.captureStackTrace = fail;
      expect(takeSites()).to.deep.equal([]);
      Error.captureStackTrace = captureStackTrace;
      Object.defineProperty(Error, 'prepareStackTrace', { get: fail, set: fail, configurable: true });
      expect(takeSites()).to.deep.equal([]);
    } finally {
      Error.captureStackTrace = captureStackTrace;
      Reflect.deleteProperty(Error, 'prepareStackTrace');
      if (prepare !== undefined) Object.defineProperty(Error, 'prepareStackTrace', prepare);
    }
    expect(asked()).to.match(HERE);
  });
});

describe('an application that has replaced functions of Error by some that throw', () => {
  withBuild();

  it('is recorded all the same', () => {
    const host = `
      const express = require('express');
      const fail = () => { throw new Error('of the application'); };
      Object.assign(Error, { prepareStackTrace: fail, captureStackTrace: fail });
      const { hindsight } = require('./dist/cjs/index.js');
      const profiler = hindsight(express(), { dir: '', warn() {} });
      console.log(profiler.isOn);
      profiler.close();`;
    const env = { PATH: process.env.PATH, NODE_ENV: 'test' };
    const said = execFileSync(process.execPath, ['--input-type=commonjs', '-e', host], { env });
    expect(String(said)).to.equal('true\n');
  });
});

describe('code that a loader compiled in memory', () => {
  it('has the lines that the loader prints in stacks', () => {
    const { prepareStackTrace } = Error;
    const MainError = Error;
    try {
      // As source-map-support, of ts-node and Jest, reads a frame.
      Error.prepareStackTrace = (error, sites) => {
        const lines = sites.map((site) => {
          const own = Object.getOwnPropertyNames(Object.getPrototypeOf(site));
          const line = own.includes('getLineNumber') ? (site.getLineNumber() ?? 0) + 31 : 0;
          return `    at place (${site.getFileName() ?? ''}:${line}:${site.getColumnNumber() ?? 0})`;
        });
        return [String(error), ...lines].join('\n');
      };
      const at = (file: string): unknown => sourcePosition(file, 5, 7, undefined);
      expect(at('/shop/app.ts')).to.deep.equal({ file: '/shop/app.ts', line: 36 });
      expect(at('/shop/app.js')).to.deep.equal({ file: '/shop/app.js', line: 5 });
      // The realm of Jest.
      globalThis.Error = runInNewContext('Error') as ErrorConstructor;
      expect(at('/shop/app.js')).to.deep.equal({ file: '/shop/app.js', line: 36 });
      globalThis.Error = MainError;
      Error.prepareStackTrace = () => {
        throw new Error('no stack');
      };
      expect(at('/shop/app.ts')).to.deep.equal({ file: '/shop/app.ts', line: 5 });
    } finally {
      globalThis.Error = MainError;
      Error.prepareStackTrace = prepareStackTrace;
    }
  });

  it('has no line if @swc-node made no source map', () => {
    const stack = 'Error: x\n    at place (/shop/src/app.ts:5:7)';
    expect(createCallerFinder('/shop')({ stack })).to.equal('src/app.ts:5');
    const { length } = process.execArgv;
    process.execArgv.push('--import=@swc-node/register/esm-register');
    try {
      expect(createCallerFinder('/shop')({ stack })).to.equal('src/app.ts');
    } finally {
      process.execArgv.length = length;
    }
  });
});
