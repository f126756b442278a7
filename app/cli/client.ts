/** Requests to the profiler's pages. Whatever goes wrong becomes a sentence with an exit code. */

import { urls } from '../urls.ts';
import type { ListedProfile } from './print.ts';

export const NOTHING_FOUND = 1;
export const FAILED = 2;

export class CommandError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The password is missing, or wrong. */
export class PasswordError extends CommandError {
  constructor(message: string) {
    super(message, FAILED);
  }
}

export interface Client {
  /** `path` is an address of urls.ts. */
  text(path: string): Promise<string>;
  json(path: string, withinMs?: number): Promise<unknown>;
  post(path: string, value: unknown, options: { accept: string; signal: AbortSignal }): Promise<string>;
  /** The parts of a response without an end, as they arrive. */
  stream(path: string): AsyncIterable<string>;
}

export interface ClientOptions {
  /** Of the application, perhaps with a path. */
  url: string;
  password: string | undefined;
}

/** Asks whoever types, who may be nobody (it resolves with null). null: `--yes` was given. */
export type Confirm = ((question: string) => Promise<boolean | null>) | null;

/** `todo`: what --yes would do. */
export async function isConfirmed(confirm: Confirm, question: string, todo: string): Promise<boolean> {
  const answer = confirm === null || (await confirm(question));
  if (answer !== null) return answer;
  throw new CommandError(`There is no terminal to ask for confirmation; add --yes to ${todo}.`, FAILED);
}

const TIMEOUT_MS = 30_000;
const NO_ADDRESS = { protocol: '', username: '', password: '' };

function readBase(url: string): string {
  const { protocol, username, password } = URL.canParse(url) ? new URL(url) : NO_ADDRESS;
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new CommandError(`"${url}" is no address; give one such as http://127.0.0.1:3000.`, FAILED);
  if (username !== '' || password !== '')
    throw new CommandError('Set the password as PROFILER_PASSWORD, not in the address.', FAILED);
  // The address of the pages is what an application prints.
  return url.replace(/(?:\/_profiler)?\/*$/, '');
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error;
  const { code } = (cause ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : message;
}

/** Error pages begin with their message in a comment. */
function messageOf(body: string): string | null {
  return /^<!-- (.*?)(?: \(\d{3} [^)]*\))? -->/.exec(body)?.[1] ?? null;
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

export function createClient({ url, password }: ClientOptions): Client {
  const base = readBase(url);
  const headers: Record<string, string> = {
    accept: '*/*',
    ...(password === undefined
      ? {}
      : { authorization: `Basic ${Buffer.from(`hindsight:${password}`).toString('base64')}` }),
  };

  async function refusal(response: Response): Promise<CommandError> {
    const { status } = response;
    const message = messageOf(await response.text());
    if (status === 401)
      return password === undefined
        ? new PasswordError(`${base} requires a password; set PROFILER_PASSWORD.`)
        : new PasswordError(`${base} refused the password.`);
    if (status === 404 && message?.startsWith('Token ') === true)
      return new CommandError(message, NOTHING_FOUND);
    if (status === 404) return new CommandError(`There is no profiler at ${base} (404).`, FAILED);
    return new CommandError(
      `${base} responded with ${status}${message === null ? '.' : `: ${message}`}`,
      FAILED,
    );
  }

  async function send(
    path: string,
    { headers: own = {}, ...init }: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> },
  ): Promise<Response> {
    const sent = { ...init, headers: { ...headers, ...own } };
    const response = await fetch(`${base}${path}`, sent).catch((error: unknown) => {
      throw new CommandError(
        `${base} can’t be reached: ${reasonOf(error)}. Start the application, or name its address: --url, or PROFILER_URL.`,
        FAILED,
      );
    });
    if (!response.ok) throw await refusal(response);
    return response;
  }

  const text = async (path: string, withinMs = TIMEOUT_MS): Promise<string> =>
    (await send(path, { signal: AbortSignal.timeout(withinMs) })).text();

  return {
    text,
    async json(path, withinMs) {
      const found = jsonIn(await text(path, withinMs));
      // Another program may respond to any address.
      if (typeof found !== 'object' || found === null || !('form' in found))
        throw new CommandError(`There is no profiler at ${base}: another program responds.`, FAILED);
      return found;
    },
    async post(path, value, { accept, signal }) {
      const sent = { accept, 'content-type': 'application/json' };
      return (
        await send(path, { method: 'POST', headers: sent, body: JSON.stringify(value), signal })
      ).text();
    },
    async *stream(path) {
      const { body } = await send(path, {});
      if (body === null) return;
      const decoder = new TextDecoder();
      for await (const chunk of body) yield decoder.decode(chunk as Uint8Array, { stream: true });
    },
  };
}

export interface FoundList {
  profiles: readonly ListedProfile[];
  notice: string | null;
  /** Words that look like filters and are none, a sentence each. */
  misread: readonly string[];
  looked: { count: number; all: boolean } | null;
  total: number;
}

export async function readList(
  client: Client,
  query: Readonly<Record<string, string | number>>,
): Promise<FoundList> {
  const found = (await client.json(urls.searchJson(query))) as FoundList;
  const { profiles, notice, misread } = found;
  if (misread.length > 0) throw new CommandError(misread.join(' '), FAILED);
  if (notice !== null && profiles.length === 0) throw new CommandError(notice, FAILED);
  return found;
}
