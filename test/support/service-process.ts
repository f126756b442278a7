/**
 * The service as a process of its own, and requests to it that each take a fresh connection. It is the built one: from its sources each
 * process would compile all of them.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { get, type IncomingHttpHeaders } from 'node:http';
import { sharedPart } from './shared-part.ts';
import { until } from './waiting.ts';

export interface ServiceProcess {
  child: ChildProcess;
  /** What it wrote to stderr so far. */
  said(): string;
  /** Exit code once it is gone, after `signal` where one is given; null where a signal ended it. */
  ended(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface ListeningProcess extends ServiceProcess {
  origin: string;
}

/** `env` is all that it gets, but for PATH; PORT is 0 unless given. */
export async function spawnService(env: Record<string, string>): Promise<ServiceProcess> {
  await sharedPart('build');
  const child = spawn(process.execPath, ['dist/app/server.js'], {
    env: { PATH: process.env.PATH, PORT: '0', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let text = '';
  child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return {
    child,
    said: () => text,
    async ended(signal) {
      if (child.exitCode === null && child.signalCode === null) {
        const exit = once(child, 'exit');
        if (signal !== undefined) child.kill(signal);
        await exit;
      }
      return child.exitCode;
    },
  };
}

export async function startService(env: Record<string, string>): Promise<ListeningProcess> {
  const started = await spawnService(env);
  const origin = (): string | undefined => /Listening on (http:\S+)/.exec(started.said())?.[1];
  await until(() => origin() !== undefined || started.child.exitCode !== null, 'the service listens');
  const found = origin();
  if (found === undefined) throw new Error(`The service did not start: ${started.said()}`);
  return { ...started, origin: found };
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** On a connection of its own, so that any worker may get it. */
export async function ask(url: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (body += chunk));
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
      });
      response.on('error', reject);
    }).on('error', reject);
  });
}

export function tokenOf({ headers }: Answer): string {
  return String(headers['x-debug-token']);
}
