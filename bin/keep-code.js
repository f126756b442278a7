/**
 * Keeps what V8 makes of the joined modules until the service gave its first answer: `node bin/keep-code.js <folder>`, where
 * the folder holds `app` and gets `code` (run-script.js reads it). Run by the build, in a process of its own: only what is
 * compiled by then is kept. The service has no routes and no database here, and listens on a port that the system gives.
 */
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './entry.js';

const folder = process.argv[2];
const moduleOf = (name) => import(pathToFileURL(join(folder, 'app', `${name}.js`)).href);

async function answerOnce(varDir) {
  const { createService, readConfig } = await moduleOf('service');
  const config = readConfig({ APP_ENV: 'dev', VAR_DIR: varDir });
  const { server } = createService({ config, routes: [], log() {} });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  const [answer] = await once(get({ port, agent: false, headers: { accept: 'text/html' } }), 'response');
  await once(answer.resume(), 'end');
  if (answer.statusCode !== 404) throw new Error(`The service answered ${answer.statusCode}.`);
}

const { onRun } = await moduleOf('hindsight-run');
const scripts = new Map();
const home = pathToFileURL(join(root, 'dist', 'app', sep)).href;
onRun((name, _script, packed) => scripts.set(name, packed), home);
const varDir = mkdtempSync(join(tmpdir(), 'hindsight-build-'));
try {
  await answerOnce(varDir);
  mkdirSync(join(folder, 'code'));
  for (const [name, packed] of scripts) writeFileSync(join(folder, 'code', name), packed());
} finally {
  rmSync(varDir, { recursive: true, force: true });
}
process.exit(0);
