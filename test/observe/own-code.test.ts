import { expect } from 'chai';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInThisContext } from 'node:vm';
import express from 'express';
import { createCallerFinder, type Site } from '../../app/observe/stacks/caller.ts';
import { createOwnCode } from '../../app/observe/stacks/own-code.ts';
import { observeRegistrations } from '../../app/observe/layers/registrations.ts';
import { freshFolder } from '../support/fresh-folder.ts';

describe('own code', () => {
  let folder: string;
  before(() => {
    folder = freshFolder();
    for (const name of ['maildev', 'mocha']) {
      mkdirSync(join(folder, 'node_modules', name), { recursive: true });
      writeFileSync(join(folder, 'node_modules', name, 'main.js'), '');
    }
  });

  it('is what lies outside of node_modules', () => {
    const isOwn = createOwnCode('/srv/shop', '/srv/shop/server.js');
    expect(isOwn('/srv/shop/src/orders.js')).to.equal(true);
    expect(isOwn('file:///srv/lib/money.js')).to.equal(true);
    expect(isOwn('/srv/shop/node_modules/express/index.js')).to.equal(false);
  });

  it('is the package that was started, or the root, but not what they install', () => {
    const modules = join(folder, 'node_modules');
    const isOwn = createOwnCode('/srv', join(modules, 'maildev', 'main.js'));
    expect(isOwn(join(modules, 'maildev', 'lib', 'web.js'))).to.equal(true);
    expect(isOwn(`file://${join(modules, 'maildev', 'lib', 'web.js')}`)).to.equal(true);
    expect(isOwn(join(modules, 'maildev', 'node_modules', 'express', 'index.js'))).to.equal(false);
    expect(isOwn(join(modules, 'express', 'index.js'))).to.equal(false);
    const byRoot = createOwnCode(join(modules, 'maildev'), '/srv/start.js');
    expect(byRoot(join(modules, 'maildev', 'lib', 'web.js'))).to.equal(true);
    const tested = createOwnCode('/srv', join(modules, 'mocha', 'main.js'));
    expect(tested(join(modules, 'mocha', 'main.js'))).to.equal(false);
  });

  it('is no WebAssembly: the line of a callback is that of the code that called the module', () => {
    expect(createOwnCode('/srv')('wasm://wasm/42fa80ae')).to.equal(false);
    const findCaller = createCallerFinder();
    const library = runInThisContext('(find, places) => () => { places.push(find()); }', {
      filename: '/srv/node_modules/undici/lib/parser.js',
    }) as (find: () => string | null, places: (string | null)[]) => () => void;
    const instantiate = runInThisContext(
      '(bytes, f) => new WebAssembly.Instance(new WebAssembly.Module(bytes), { m: { f } }).exports.g',
    ) as (bytes: Buffer, f: () => void) => () => void;
    const places: (string | null)[] = [];
    // It imports m.f, and exports a function g that calls it.
    const module = '0061736d01000000010401600000020701016d0166000003020100070501016700010a0601040010000b';
    const parse = instantiate(
      Buffer.from(module, 'hex'),
      library(() => findCaller(), places),
    );
    parse();
    expect(places[0]).to.match(/own-code\.test\.ts:\d+$/);
  });

  it('names the framework where it registered a layer by itself', async () => {
    const registrations = observeRegistrations({ findRegistration: createCallerFinder().registration });
    registrations.observe(express.Router);
    const router = express.Router();
    const frameworks = runInThisContext(
      '(router, done) => setImmediate(() => { router.use(() => {}); done(); })',
      {
        filename: '/srv/node_modules/@nestjs/core/router/explorer.js',
      },
    ) as (to: express.Router, done: () => void) => void;
    await new Promise<void>((resolve) => {
      frameworks(router, resolve);
    });
    expect(registrations.sourceOf(router.stack[0]!)).to.equal('@nestjs/core');
    registrations.close();
  });

  it('names Express where it added its own middleware, and never Hindsight, which only watches', () => {
    const site = (file: string, name: string): Site => ({
      getFileName: () => `/srv/node_modules/${file}`,
      getLineNumber: () => 1,
      getColumnNumber: () => 1,
      getFunctionName: () => name,
    });
    const sites = [
      site('express-hindsight/dist/app/hindsight-a1.js', 'onRegistered'),
      site('express/lib/router/index.js', 'use'),
      site('express/lib/application.js', 'lazyrouter'),
    ];
    expect(createCallerFinder().registration(sites)).to.equal('express');
  });
});
