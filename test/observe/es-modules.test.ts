import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { readdir, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { amendModule, ES_MODULES, hasSafeHooks, ownModules } from '../../app/observe/es-modules.ts';
import type { LibraryPatch } from '../../app/observe/libraries.ts';
import { withBuild } from '../support/build.ts';
import { freshFolder } from '../support/fresh-folder.ts';

const run = promisify(execFile);

/** Nothing listens at this port: the statement fails, and is recorded. */
const SERVER = `
import express from 'express';
import postgres from 'postgres';
const sql = postgres({ host: '127.0.0.1', port: 1 });
const app = express();
app.get('/', async (request, response) => {
  await sql.unsafe('select 1').catch(() => undefined);
  response.send('done');
});
const server = app.listen(0, '127.0.0.1');
await new Promise((done) => server.once('listening', done));
const origin = 'http://127.0.0.1:' + server.address().port;
const token = (await fetch(origin)).headers.get('x-debug-token');
const { profile } = await (await fetch(origin + '/_profiler/' + token + '.json')).json();
console.log(JSON.stringify(profile.panels.database?.data.queries.map(({ caller }) => caller) ?? null));
process.exit();
`;

/** The profiler comes last. */
const NEST = `
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ParcelsController, TenantMiddleware } from './parcels.mjs';
import { HindsightModule } from ${JSON.stringify(pathToFileURL('dist/app/index.js'))};
class ShopModule {
  configure(consumer) {
    consumer.apply(TenantMiddleware).forRoutes(ParcelsController);
  }
}
Module({ imports: [HindsightModule.forRoot()], controllers: [ParcelsController] })(ShopModule);
const app = await NestFactory.create(ShopModule, { logger: false });
await app.listen(0, '127.0.0.1');
const origin = await app.getUrl();
const token = (await fetch(origin + '/parcels')).headers.get('x-debug-token');
const { profile } = await (await fetch(origin + '/_profiler/' + token + '.json')).json();
const { routing, spans } = profile.panels;
const middleware = routing.data.trace.map(({ handler, source }) => [handler, source]);
console.log(JSON.stringify([...middleware, ...(spans?.data.items ?? []).map(({ name, caller }) => [name, caller])]));
process.exit();
`;
const PARCELS = `
import { Controller, Get } from '@nestjs/common';
export class ParcelsController {
  find() {
    return 'parcels';
  }
}
export class TenantMiddleware {
  use(_request, _response, next) {
    next();
  }
}
const { prototype } = ParcelsController;
Get()(prototype, 'find', Object.getOwnPropertyDescriptor(prototype, 'find'));
Controller('parcels')(ParcelsController);
`;

describe('ES modules', () => {
  withBuild();

  it('of all patches are known to `register`', async () => {
    const patched: Record<string, readonly string[]> = {};
    const files = await readdir('app/observe', { recursive: true });
    for (const file of files.filter((name) => name.endsWith('.ts'))) {
      const exported = (await import(resolve('app/observe', file))) as Record<string, unknown>;
      for (const { name, module } of Object.values(exported).flat() as Partial<LibraryPatch>[])
        if (module !== undefined) patched[`${name ?? ''}/${module.file}`] = module.names;
    }
    expect(ES_MODULES).to.deep.equal(patched);
  });

  for (const [version, isSafe] of [
    ['20.19.0', false],
    ['22.0.0', false],
    ['22.14.0', false],
    ['22.15.0', false],
    ['22.20.0', false],
    ['22.22.2', false],
    ['22.22.3', true],
    ['22.23.0', true],
    ['23.5.0', false],
    ['23.11.1', false],
    ['24.0.0', false],
    ['24.11.0', false],
    ['24.11.1', true],
    ['24.12.0', true],
    ['25.0.0', false],
    ['25.1.0', true],
    ['26.0.0', true],
    ['26.10.0', true],
    ['27.0.0-nightly20261126', true],
  ] as const)
    it(`are${isSafe ? '' : ' not'} changed by hooks of Node.js ${version}`, () => {
      expect(hasSafeHooks(version)).to.equal(isSafe);
    });

  it('of the application are noted, as files', () => {
    for (const url of [
      'file:///srv/app/src/orders.ts?v=2',
      'file:///srv/node_modules/pg/index.js',
      'node:fs',
    ])
      amendModule(url, { format: 'module', source: '' }, () => []);
    expect(ownModules()).to.include('/srv/app/src/orders.ts');
    expect([...ownModules()].filter((file) => /node_modules|^node:/.test(file))).to.deep.equal([]);
  });

  /** What `server.mjs` prints last. */
  async function outputOf(files: Record<string, string>, ...options: string[]): Promise<unknown> {
    const folder = freshFolder();
    await symlink(resolve('node_modules'), join(folder, 'node_modules'));
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    const { NODE_ENV: _ofTests, NODE_OPTIONS: _too, ...env } = process.env;
    const { stdout } = await run(process.execPath, [...options, 'server.mjs'], { cwd: folder, env });
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
  }

  if (hasSafeHooks(process.versions.node))
    it('that are imported beside Express are observed by `register`', async () => {
      expect(
        await outputOf({ 'server.mjs': SERVER }, '--import', resolve('dist/cjs/register.js')),
      ).to.deep.equal(['server.mjs:7']);
    });

  it('of NestJS and an application that are loaded before the profiler are found by stacks and imports', async () => {
    expect(await outputOf({ 'server.mjs': NEST, 'parcels.mjs': PARCELS })).to.include.deep.members([
      ['TenantMiddleware', 'parcels.mjs:9'],
      ['ParcelsController.find', 'parcels.mjs:4'],
      ['Controller ParcelsController.find', 'parcels.mjs:4'],
    ]);
  });
});
