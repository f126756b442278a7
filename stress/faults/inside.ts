/** Faults inside the profiler: the host's responses stay as they are without it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { rootFolder } from '../../bench/harness/folders.ts';
import type { Fault } from './drive.ts';

const PLACES = ['collect', 'serialize', 'derive', 'spans', 'summary', 'render', 'rule', 'store', 'read', 'setting']; // prettier-ignore
const PATHS = ['/', '/json', '/failing', '/nowhere', '/', '/json'];
/** What the profiler adds, and what differs between any two responses. */
const OWN = /^(?:x-debug-token(?:-link)?|x-previous-debug-token(?:-link)?|date|etag)$/;

interface Answers {
  /** Status, header fields and body of each path. */
  responses: string[];
  tokens: (string | null)[];
  /** Statuses of the profiler's pages. */
  pages: number[];
  isAlive: boolean;
}

async function ask(broken: string | undefined): Promise<Answers> {
  const child = spawn(process.execPath, [join(rootFolder, 'stress', 'faults', 'broken-host.mjs')], {
    env: {
      PATH: process.env.PATH,
      PROFILER_TOOLBAR: 'off',
      ...(broken === undefined ? {} : { BREAK: broken }),
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    const [port] = (await once(createInterface(child.stdout), 'line')) as [string];
    const answers: Answers = { responses: [], tokens: [], pages: [], isAlive: false };
    for (const path of PATHS) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`);
      const fields = [...response.headers].filter(([name]) => !OWN.test(name));
      answers.tokens.push(response.headers.get('x-debug-token'));
      answers.responses.push(JSON.stringify([response.status, fields, await response.text()]));
    }
    if (broken !== undefined)
      for (const path of ['/_profiler/', `/_profiler/${answers.tokens[0]}`, '/_profiler/health']) {
        const response = await fetch(`http://127.0.0.1:${port}${path}`);
        await response.text();
        answers.pages.push(response.status);
      }
    answers.isAlive = child.exitCode === null;
    return answers;
  } finally {
    child.kill('SIGKILL');
  }
}

export const faultsInside: readonly Fault[] = [
  {
    name: 'inside',
    title: `errors at ${PLACES.length} places of the profiler`,
    async drive(_options, report) {
      const bare = await ask(undefined);
      for (const place of PLACES) {
        const { responses, tokens, pages, isAlive } = await ask(place);
        report.expect(String(responses) === String(bare.responses), `${place}: a response differs`);
        report.expect(!tokens.includes(null), `${place}: a response has no token`);
        report.expect(isAlive, `${place}: the process ended`);
        report.figure(`${place} ${pages.join('/')}`);
      }
    },
  },
];
