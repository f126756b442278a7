/** Parts of the package that are gone or broken while it runs. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freshVarDir } from '../../test/support/postgres.ts';
import { rootFolder } from '../../bench/harness/folders.ts';
import { freePort } from '../../bench/harness/process.ts';
import { startService } from '../ledger/service.ts';
import type { Fault } from './drive.ts';

const COPIED = ['dist', 'views', 'package.json', join('stress', 'ledger', 'owner-route.mjs')];

function breakViews(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    if (name.endsWith('.ejs')) writeFileSync(join(folder, name), '<% if ( %>');
}

const BROKEN: Record<string, (root: string) => void> = {
  nothing: () => undefined,
  'no views': (root) => {
    rmSync(join(root, 'views'), { recursive: true });
  },
  'views with syntax errors': (root) => {
    breakViews(join(root, 'views'));
  },
  'no styles and scripts': (root) => {
    rmSync(join(root, 'dist', 'public'), { recursive: true });
  },
};

function copyPackage(): string {
  const root = mkdtempSync(join(tmpdir(), 'package-'));
  for (const name of COPIED) cpSync(join(rootFolder, name), join(root, name), { recursive: true });
  symlinkSync(join(rootFolder, 'node_modules'), join(root, 'node_modules'));
  return root;
}

interface Asked {
  /** Status and header fields of pages of the application, without what differs between any two responses. */
  responses: string[];
  profiler: number[];
}

const DIFFERS =
  /^(?:date|content-length|etag|x-request-id|x-debug-token(?:-link)?|x-previous-debug-token(?:-link)?|content-security-policy)$/;

async function ask(broken: (root: string) => void): Promise<Asked> {
  const root = copyPackage();
  const varDir = freshVarDir();
  const port = await freePort();
  broken(root);
  // No database: pages are asked for, not storing.
  mkdirSync(join(varDir, 'postgres'));
  writeFileSync(join(varDir, 'postgres', 'data'), '');
  const service = await startService(port, { VAR_DIR: varDir }, root);
  const asked: Asked = { responses: [], profiler: [] };
  try {
    for (const path of ['/', '/nowhere', '/throw/error']) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`);
      const text = await response.text();
      const fields = [...response.headers].filter(([name]) => !DIFFERS.test(name));
      const hasToken = response.headers.has('x-debug-token');
      asked.responses.push(JSON.stringify([path, response.status, hasToken, text.length > 0, fields]));
    }
    for (const path of ['/_profiler/', '/_profiler/health.json']) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`);
      await response.text();
      asked.profiler.push(response.status);
    }
    return asked;
  } finally {
    await service.end();
    rmSync(root, { recursive: true, force: true });
    rmSync(varDir, { recursive: true, force: true });
  }
}

export const pageFaults: readonly Fault[] = [
  {
    number: 'D-28',
    name: 'views',
    title: Object.keys(BROKEN).slice(1).join(', '),
    async drive(_options, report) {
      const whole = await ask(BROKEN.nothing ?? (() => undefined));
      for (const [what, broken] of Object.entries(BROKEN).slice(1)) {
        const { responses, profiler } = await ask(broken);
        for (const [at, response] of responses.entries())
          report.expect(
            response === whole.responses[at],
            `${what}: ${response} instead of ${whole.responses[at]}`,
          );
        report.expect(profiler.at(-1) === 200, `${what}: health as JSON has the status ${profiler.at(-1)}`);
        report.figure(`${what}: the list ${profiler[0]}`);
      }
    },
  },
];
