/** `export`: one profile, or all that match, to a file or to standard output. */
import { once } from 'node:events';
import { open, rename, rm } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { TOKEN_PATTERN, urls } from '../urls.ts';
import { type Client, CommandError, FAILED, NOTHING_FOUND, readList } from './client.ts';
import { printableLine, printableText } from './print.ts';
import { countText, createProgress } from './progress.ts';

export const EXPORT_FORMATS = ['json', 'markdown', 'har'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

export interface ExportOptions {
  client: Client;
  /** A token, or filters as in the search box. */
  what: string;
  format: ExportFormat;
  /** Default: all. */
  limit: number;
  /** undefined: `stdout`. */
  file: string | undefined;
  stdout: Writable;
  /** Of this package. */
  version: string;
  note: (sentence: string) => void;
}

interface Output {
  write(text: string): Promise<void>;
  end(): Promise<void>;
  /** Leaves nothing behind, and an earlier file as it was. */
  abandon(): Promise<void>;
}

/** The most that one page of the list has. */
const PAGE_ROWS = 200;
const AT_ONCE = 8;
/** Recorded data is its owner's alone. */
const PRIVATE = 0o600;

function reasonOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? (error as Error).message;
}

async function fileOutput(path: string): Promise<Output> {
  const unfinished = `${path}.part`;
  const cannot = (error: unknown): never => {
    throw new CommandError(`${path} can’t be written: ${reasonOf(error)}.`, FAILED);
  };
  const file = await open(unfinished, 'w', PRIVATE).catch(cannot);
  return {
    write: async (text) => file.appendFile(text).catch(cannot),
    async end() {
      await file.close();
      await rename(unfinished, path).catch(cannot);
    },
    async abandon() {
      await file.close();
      await rm(unfinished, { force: true });
    },
  };
}

function streamOutput(stream: Writable): Output {
  return {
    async write(text) {
      if (!stream.write(text)) await once(stream, 'drain');
    },
    end: () => Promise.resolve(),
    abandon: () => Promise.resolve(),
  };
}

/** Tokens of all that match, newest first, page by page. New requests move the pages: what came before is left out. */
async function* findTokens(
  { client, what, limit, note }: ExportOptions,
  onTotal: (total: number) => void,
): AsyncGenerator<readonly string[]> {
  const seen = new Set<string>();
  for (let page = 1; seen.size < limit; page++) {
    const { profiles, looked, total } = await readList(client, { q: what, limit: PAGE_ROWS, page });
    if (page === 1 && looked?.all === false) note(`Searched the newest ${looked.count} requests only.`);
    onTotal(Math.min(total, limit));
    const fresh = profiles.filter(({ token }) => !seen.has(token)).slice(0, limit - seen.size);
    for (const { token } of fresh) seen.add(token);
    if (fresh.length > 0) yield fresh.map(({ token }) => token);
    if (profiles.length < PAGE_ROWS) return;
  }
}

/** How profiles become one text. */
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

/** undefined for a profile that was deleted meanwhile. */
async function fetchOne(client: Client, path: string): Promise<string | undefined> {
  try {
    return await client.text(path);
  } catch (error) {
    if (error instanceof CommandError && error.exitCode === NOTHING_FOUND) return undefined;
    throw error;
  }
}

/** Returns how many profiles were written. */
async function writeAll(options: ExportOptions, output: Output): Promise<number> {
  const { client, what, note } = options;
  const { address, head, between, foot, pieces } = formOf(options);
  const progress = createProgress(note, 'exported');
  const isToken = TOKEN_PATTERN.test(what);
  const pages = isToken ? [[what]] : findTokens(options, progress.expect);
  let count = 0;
  let isFirst = true;
  for await (const tokens of pages)
    for (let at = 0; at < tokens.length; at += AT_ONCE) {
      const texts = await Promise.all(
        tokens.slice(at, at + AT_ONCE).map((token) => fetchOne(client, address(token))),
      );
      for (const text of texts) {
        if (text === undefined) continue;
        for (const piece of pieces(text)) {
          await output.write(`${isFirst ? head : between}${piece}`);
          isFirst = false;
        }
        progress.reach(++count);
      }
    }
  if (count === 0)
    throw new CommandError(
      isToken ? `Token "${what}" not found.` : 'No recorded request matches.',
      NOTHING_FOUND,
    );
  await output.write(`${isFirst ? head : ''}${foot}`);
  return count;
}

export async function exportProfiles(options: ExportOptions): Promise<void> {
  const { file, stdout, note } = options;
  const output = file === undefined ? streamOutput(stdout) : await fileOutput(file);
  try {
    const count = await writeAll(options, output);
    await output.end();
    if (file !== undefined) note(`Exported ${countText(count)} to ${file}.`);
  } catch (error) {
    await output.abandon();
    throw error;
  }
}
