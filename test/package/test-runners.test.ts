/** Test runners replace an application's clock, and list what may keep a process alive: neither may notice the profiler. */
import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { withBuild } from '../support/build.ts';

const script = `
const { createHook } = await import('node:async_hooks');
const { default: express } = await import('express');
const { setImmediate } = process.getBuiltinModule('node:timers');
// Jest's jsdom has none of these.
for (const name of ['TextDecoder', 'TextEncoder', 'setImmediate', 'structuredClone', 'fetch', 'Headers', 'Response'])
  delete globalThis[name];
const { hindsight } = LOAD;
const open = new Map();
createHook({ init: (id, type) => open.set(id, type), destroy: (id) => open.delete(id) }).enable();
const app = express();
hindsight(app);
await new Promise(setImmediate);
const handles = [...open.values()].filter((type) => /Hindsight|bound/.test(type));

const read = new Set();
const replace = (holder, names) => {
  for (const name of names) {
    const real = holder[name];
    Object.defineProperty(holder, name, { get() {
      if (new Error().stack.split('\\n')[2].includes('/dist/')) read.add(name);
      return real;
    } });
  }
};
const timers = ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate'];
replace(globalThis, [...timers, 'performance', 'Date', 'TextDecoder']);
replace(process.getBuiltinModule('node:timers'), timers);
replace(process.getBuiltinModule('node:timers/promises'), ['setTimeout', 'setImmediate']);

app.post('/', express.text(), (req, res) => res.json({ own: Object.keys(req) }));
const http = process.getBuiltinModule('node:http');
const server = app.listen(0, async () => {
  const send = (method, path) => new Promise((resolve) => {
    const headers = { 'content-type': 'text/plain' };
    http.request({ port: server.address().port, method, path, headers, agent: false }, (res) => {
      let text = '';
      res.on('data', (chunk) => (text += chunk)).on('end', () => resolve({ headers: res.headers, text }));
    }).end(method === 'POST' ? 'a text' : undefined);
  });
  const { headers, text } = await send('POST', '/');
  const page = await send('GET', '/_profiler/' + headers['x-debug-token'] + '.md');
  const { own } = JSON.parse(text);
  console.log(JSON.stringify({ own, handles, read: [...read], isPage: page.text.includes('a text') }));
  process.exit();
});
`;

describe('an application under test', () => {
  withBuild();

  const loads = {
    'an ES module': "await import('./dist/app/index.js')",
    CommonJS: "process.getBuiltinModule('node:module').createRequire(import.meta.url)('./dist/cjs/index.js')",
  };
  for (const [name, load] of Object.entries(loads))
    it(`has its clock, handles and requests to itself, with the profiler as ${name}`, async () => {
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ['--input-type=module', '--eval', script.replace('LOAD', load)],
        { env: { PATH: process.env.PATH ?? '', PROFILER: 'on', PROFILER_DIR: '' } },
      );
      const { own, ...seen } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Record<string, unknown>;
      expect(seen).to.deep.equal({ handles: [], read: [], isPage: true });
      expect(own).not.to.include('emit');
    });
});
