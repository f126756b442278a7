/** Places of routes that modules register while they are imported, before the code can call `hindsight`. */
import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { withBuild } from '../support/build.ts';
import { freshFolder } from '../support/fresh-folder.ts';

const run = promisify(execFile);
const door = JSON.stringify(pathToFileURL(resolve('dist/app/index.js')).href);

const ROUTES = `import { Router } from 'express';
export const orders = Router();
orders.get('/:id', (req, res) => res.send(req.params.id));
`;
const SERVER = `
const app = express();
const profiler = hindsight(app, { enabled: true, warn() {} });
app.use('/orders', orders);
const server = app.listen(0, '127.0.0.1');
await new Promise((done) => server.once('listening', done));
const response = await fetch('http://127.0.0.1:' + server.address().port + '/orders/7');
await response.text();
const found = await profiler.profiles.read(response.headers.get('x-debug-token'));
console.log(found.profile.panels.routing.data.route.source);
process.exit();
`;
const IMPORTS = {
  express: "import express from 'express';",
  hindsight: `import hindsight from ${door};`,
  routes: "import { orders } from './routes.mjs';",
};

describe('routes that are registered while modules are imported', () => {
  withBuild();
  let folder: string;
  before(async () => {
    folder = freshFolder();
    await symlink(resolve('node_modules'), join(folder, 'node_modules'));
    await writeFile(join(folder, 'package.json'), '{}');
    await writeFile(join(folder, 'routes.mjs'), ROUTES);
  });

  async function sourceIn(imports: readonly (keyof typeof IMPORTS)[]): Promise<string> {
    const { NODE_ENV: _ofTests, ...inherited } = process.env;
    const text = imports.map((name) => IMPORTS[name]).join('\n');
    await writeFile(join(folder, 'server.mjs'), text + SERVER);
    const { stdout } = await run(process.execPath, ['server.mjs'], { cwd: folder, env: inherited });
    return stdout.trim();
  }

  it('have a place if the package is imported before them, with Express or ahead of it', async () => {
    expect(await sourceIn(['hindsight', 'express', 'routes'])).to.equal('routes.mjs:3');
    expect(await sourceIn(['express', 'hindsight', 'routes'])).to.equal('routes.mjs:3');
  });

  it('have none if they are registered before that', async () => {
    expect(await sourceIn(['routes', 'express', 'hindsight'])).to.equal('null');
  });
});
