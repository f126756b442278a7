/** `export`: one profile, or all that match, to a file or to standard output. */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { codeOf, messageOf } from '../errors.ts';
import { TOKEN_PATTERN, urls } from '../urls.ts';
import { type Client, CommandError, FAILED, NOTHING_FOUND, readList } from './client.ts';
import { countText, printableLine, printableText } from './print.ts';

export const EXPORT_FORMATS = ['json', 'markdown', 'har'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

export interface ExportOptions {
  client: Client;
  /** A token, or filters as in the search box. */
  what: string;
  format: ExportFormat;
  limit: number;
  file: string | undefined;
  stdout: Writable;
  version: string;
  note: (sentence: string) => void;
}

/** The most that one page of the list has. */
const PAGE_ROWS = 200;
const AT_ONCE = 8;
/** Recorded data is its owner's alone. */
const PRIVATE = 0o600;

/** Tokens of all that match, newest first, page by page. New requests move the pages: what came before is left out. */
async function* findTokens({ client, what, limit, note }: ExportOptions): AsyncGenerator<readonly string[]> {
  const seen = new Set<string>();
  for (let page = 1; seen.size < limit; page++) {
    const { profiles, looked } = await readList(client, { q: what, limit: PAGE_ROWS, page });
    if (page === 1 && looked?.all === false) note(`Searched the newest ${looked.count} requests only.`);
    const fresh = profiles.filter(({ token }) => !seen.has(token)).slice(0, limit - seen.size);
    for (const { token } of fresh) seen.add(token);
    if (fresh.length > 0) yield fresh.map(({ token }) => token);
    if (profiles.length < PAGE_ROWS) return;
  }
}

interface Form {
  address: (token: string) => string;
  head: string;
  between: string;
  foot: string;
  /** What one profile adds, in order; called in the order of the output. */
  pieces: (text: string) => readonly string[];
}

const JSON_FORM: Form = {
  address: (token) => urls.profileJson(token),
  head: '[\n',
  between: ',\n',
  foot: '\n]\n',
  pieces: (text) => [printableLine(text)],
};

function harForm(version: string): Form {
  const creator = JSON.stringify({ name: 'express-hindsight', version });
  return {
    address: (token) => urls.profileHar(token),
    head: `{"log":{"version":"1.2","creator":${creator},"entries":[\n`,
    between: ',\n',
    foot: '\n]}}\n',
    pieces: (text) =>
      (JSON.parse(text) as { log: { entries: unknown[] } }).log.entries.map((entry) =>
        printableLine(JSON.stringify(entry)),
      ),
  };
}

const MARKDOWN_FORM: Form = {
  address: (token) => urls.profileMarkdown(token),
  head: '',
  between: '\n---\n\n',
  foot: '',
  pieces: (text) => [printableText(text)],
};

function formOf({ format, version }: ExportOptions): Form {
  if (format === 'har') return harForm(version);
  return format === 'json' ? JSON_FORM : MARKDOWN_FORM;
}

async function fetchOne(client: Client, path: string): Promise<string | undefined> {
  try {
    return await client.text(path);
  } catch (error) {
    if (error instanceof CommandError && error.exitCode === NOTHING_FOUND) return undefined;
    throw error;
  }
}

/** The text piece by piece; `onCount` gets the number of profiles at the end. */
async function* textsOf(options: ExportOptions, onCount: (count: number) => void): AsyncGenerator<string> {
  const { client, what } = options;
  const { address, head, between, foot, pieces } = formOf(options);
  const isToken = TOKEN_PATTERN.test(what);
  let count = 0;
  let isFirst = true;
  for await (const tokens of isToken ? [[what]] : findTokens(options))
    for (let at = 0; at < tokens.length; at += AT_ONCE) {
      const wanted = tokens.slice(at, at + AT_ONCE);
      const texts = await Promise.all(wanted.map((token) => fetchOne(client, address(token))));
      for (const text of texts) {
        if (text === undefined) continue;
        count++;
        for (const piece of pieces(text)) {
          yield `${isFirst ? head : between}${piece}`;
          isFirst = false;
        }
      }
    }
  if (count === 0)
    throw new CommandError(
      isToken ? `Token "${what}" not found.` : 'No recorded request matches.',
      NOTHING_FOUND,
    );
  yield `${isFirst ? head : ''}${foot}`;
  onCount(count);
}

/** Leaves an earlier file as it was if it fails. */
async function writeFile(path: string, texts: AsyncIterable<string>): Promise<void> {
  const unfinished = `${path}.part`;
  try {
    await pipeline(texts, createWriteStream(unfinished, { mode: PRIVATE }));
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    if (error instanceof CommandError) throw error;
    throw new CommandError(`${path} can’t be written: ${codeOf(error) || messageOf(error)}.`, FAILED);
  }
}

export async function exportProfiles(options: ExportOptions): Promise<void> {
  const { file, stdout, note } = options;
  let count = 0;
  const texts = textsOf(options, (written) => (count = written));
  if (file === undefined) {
    for await (const text of texts) if (!stdout.write(text)) await once(stdout, 'drain');
  } else {
    await writeFile(file, texts);
    note(`Exported ${countText(count)} to ${file}.`);
  }
}
