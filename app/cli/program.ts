/** The command line: arguments -> a request to the profiler's pages -> text. The profiler itself is not loaded. */
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { realpathSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { isHindsightError } from '../errors.ts';
import { TOKEN_PATTERN, urls } from '../urls.ts';
import {
  type Client,
  CommandError,
  createClient,
  FAILED,
  NOTHING_FOUND,
  UnreachableError,
} from './client.ts';
import { EXPORT_FORMATS, type ExportFormat, exportProfiles } from './export.ts';
import { loadMcpSdk, serveMcp } from './mcp.ts';
import {
  LIST_FORMATS, type ListedProfile, type ListFormat, markdownTable, printableJson, printableLine, printableText, type Screen, table,
} from './print.ts'; // prettier-ignore
import { type PrunableStore, prune } from './prune.ts';
import { tail } from './tail.ts';

/** The pages over a database or a folder, without the application. */
export interface OpenedDatabase extends PrunableStore {
  url: string;
  password: string;
  close(): Promise<void>;
}

export interface ProgramOptions {
  env: Readonly<Record<string, string | undefined>>;
  screen: Screen;
  stdin: Readable;
  stdout: Writable;
  /** Of this package. */
  version: string;
  /** Messages that are no result. */
  note: (sentence: string) => void;
  /** Asks whoever types; null: nobody can be asked. */
  confirm: (question: string) => Promise<boolean | null>;
  /** Folders of profiles of projects at a path, above it and below it. */
  storedProjects: (path: string) => Promise<readonly { project: string; folder: string }[]>;
  /** Opens the profiles of a folder. */
  openFiles: (options: { folder: string; warn: (sentence: string) => void }) => Promise<OpenedDatabase>;
  /** Opens the profiles of a PostgreSQL. */
  openDatabase: (options: {
    database: string;
    schema: string;
    warn: (sentence: string) => void;
  }) => Promise<OpenedDatabase>;
}

interface GlobalOptions {
  url?: string;
  password?: string;
  database?: string;
  project?: string;
  schema: string;
}

type PageFormat = 'markdown' | 'json';

const DEFAULT_URL = 'http://127.0.0.1:3000';
const DEFAULT_SCHEMA = 'hindsight';
const HELP = `
Filters are those of the list's search box: status:5xx route:/orders time>500 has:n+1 since:10m
Exit codes: 0 found, 1 nothing found, 2 wrong arguments or no profiler.`;

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

function readAge(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  const ms = UNITS_MS[unit];
  if (ms === undefined) throw new InvalidArgumentError('Give an age such as 90m, 12h or 7d.');
  return Number(count) * ms;
}

function readCount(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Give a whole number.');
  return Number(text);
}

/** A folder as stores name it. */
function placeOf(project: string | undefined): string {
  try {
    return realpathSync(project ?? process.cwd());
  } catch {
    throw new CommandError(`${project} is no folder.`, FAILED);
  }
}

function readToken(text: string): string {
  const token = text.toLowerCase();
  if (!TOKEN_PATTERN.test(token)) throw new InvalidArgumentError('A token has six hexadecimal digits.');
  return token;
}

const listFormat = (): Option =>
  new Option('-f, --format <format>', 'output format').choices(LIST_FORMATS).default('table');
const pageFormat = (): Option =>
  new Option('-f, --format <format>', 'output format').choices(['markdown', 'json']).default('markdown');

function createProgram(options: ProgramOptions): Command {
  const { env, screen, note, openDatabase } = options;
  const program = new Command('express-hindsight');

  /** null: no folder has profiles of this project. */
  async function folderOf(project: string | undefined): Promise<string | null> {
    const path = placeOf(project);
    const near = await options.storedProjects(path);
    const exact = near.find((one) => one.project === path);
    if (exact !== undefined) return exact.folder;
    if (near.length > 1)
      throw new CommandError(
        `Several projects have profiles; name one: ${near.map((one) => `--project ${one.project}`).join(', ')}`,
        FAILED,
      );
    if (near.length === 0 && project !== undefined)
      throw new CommandError(`No profiles of ${project} are stored.`, FAILED);
    return near[0]?.folder ?? null;
  }

  /** Of the application, or of its files if no address is given and none responds. */
  async function clientOrFolder(): Promise<Client | { folder: string }> {
    const { url, password, project } = program.opts<GlobalOptions>();
    const named = url ?? (env.PROFILER_URL || undefined);
    if (named === undefined && project !== undefined) return { folder: (await folderOf(project)) ?? '' };
    const client = createClient({ url: named ?? DEFAULT_URL, password: password ?? env.PROFILER_PASSWORD });
    if (named !== undefined) return client;
    try {
      await client.json(urls.searchJson({ limit: 1 }));
      return client;
    } catch (error) {
      if (!(error instanceof UnreachableError)) throw error;
      const folder = await folderOf(undefined);
      if (folder === null) throw error;
      return { folder };
    }
  }

  /** Of the application, or of a database or folder that is open until `work` has ended. */
  async function withClient<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const { database, schema } = program.opts<GlobalOptions>();
    const found = database === undefined ? await clientOrFolder() : null;
    if (found !== null && !('folder' in found)) return work(found);
    const opened =
      found === null
        ? await openDatabase({ database: database ?? '', schema, warn: note })
        : await options.openFiles({ folder: found.folder, warn: note });
    try {
      return await work(createClient(opened));
    } finally {
      await opened.close();
    }
  }
  const printRows = (rows: readonly ListedProfile[], format: ListFormat, isMore = false): void => {
    screen.write(format === 'table' ? table(rows, screen, isMore) : markdownTable(rows, isMore));
  };

  /** Of a database, or of the files of a project. */
  async function openStore(): Promise<OpenedDatabase> {
    const { database, schema, project } = program.opts<GlobalOptions>();
    const named = database ?? (project === undefined ? env.PROFILER_DATABASE_URL : undefined) ?? '';
    if (named !== '') return openDatabase({ database: named, schema, warn: note });
    const folder = await folderOf(project);
    if (folder !== null) return options.openFiles({ folder, warn: note });
    throw new CommandError(
      'No profiles of this project are stored in files; name it, or a database: --project <folder>, --database <url>, PROFILER_DATABASE_URL.',
      FAILED,
    );
  }

  async function withStore<T>(work: (store: PrunableStore) => Promise<T>): Promise<T> {
    const opened = await openStore();
    try {
      return await work(opened);
    } finally {
      await opened.close();
    }
  }

  async function show(client: Client, token: string, format: PageFormat, query = ''): Promise<void> {
    if (format === 'json') screen.write(printableJson(await client.json(urls.profileJson(token))));
    else screen.write(printableText(await client.text(`${urls.profileMarkdown(token)}${query}`)));
  }

  async function find(
    client: Client,
    query: Record<string, string | number>,
  ): Promise<{ profiles: readonly ListedProfile[] }> {
    const found = (await client.json(urls.searchJson(query))) as {
      profiles: readonly ListedProfile[];
      notice: string | null;
    };
    if (found.notice !== null && found.profiles.length === 0) throw new CommandError(found.notice, FAILED);
    if (found.notice !== null) note(found.notice);
    if (found.profiles.length === 0) throw new CommandError('No recorded request matches.', NOTHING_FOUND);
    return found;
  }

  program
    .description('Recorded requests of an application that runs with Hindsight.')
    .version(options.version)
    .option('-u, --url <url>', `address of the application (default: PROFILER_URL, or ${DEFAULT_URL})`)
    .option('--password <password>', 'password of the profiler (default: PROFILER_PASSWORD, which the list of processes does not show)')
    .option('--project <folder>', 'read the files of this project instead of the application (default: the working directory, if no application responds)')
    .option('--database <url>', 'read this PostgreSQL instead of the application (password: PGPASSWORD)')
    .option('--schema <name>', 'schema of the profiles in the database', DEFAULT_SCHEMA)
    .addHelpText('after', HELP)
    .exitOverride()
    .configureOutput({ writeOut: screen.write, writeErr: (text) => note(text.trimEnd()) }); // prettier-ignore

  program
    .command('list')
    .description('recorded requests, newest first')
    .argument('[filters...]', 'as in the search box')
    .option('-n, --limit <number>', 'number of requests, at most 200', '25')
    .addOption(listFormat())
    .action(async (filters: string[], { limit, format }: { limit: string; format: ListFormat }) => {
      const found = await withClient((client) => find(client, { q: filters.join(' '), limit }));
      if (format === 'json') screen.write(printableJson(found));
      else printRows(found.profiles, format);
    });

  program
    .command('show')
    .description('one request with all panels')
    .argument('<token>', 'token of the request', readToken)
    .addOption(pageFormat())
    .action((token: string, { format }: { format: PageFormat }) =>
      withClient((client) => show(client, token, format)),
    );

  program
    .command('why')
    .description('what is wrong with a request, in short; by default the newest that failed')
    .argument('[token]', 'token of the request', readToken)
    .addOption(pageFormat())
    .action((given: string | undefined, { format }: { format: PageFormat }) =>
      withClient(async (client) => {
        const token = given ?? (await find(client, { has: 'error', limit: 1 })).profiles[0]?.token ?? '';
        await show(client, token, format, '?length=short');
      }),
    );

  program
    .command('compare')
    .description('what differs between two requests')
    .argument('<a>', 'token of the earlier request', readToken)
    .argument('<b>', 'token of the later request', readToken)
    .addOption(pageFormat())
    .action((a: string, b: string, { format }: { format: PageFormat }) =>
      withClient(async (client) => {
        if (format === 'json') screen.write(printableJson(await client.json(urls.compareJson({ a, b }))));
        else screen.write(printableText(await client.text(urls.compareMarkdown({ a, b }))));
      }),
    );

  program
    .command('tail')
    .description('new requests as they end, until Ctrl C')
    .option('--filter <filters>', 'as in the search box', '')
    .addOption(listFormat())
    .action(async ({ filter, format }: { filter: string; format: ListFormat }) => {
      let isMore = false;
      const print = (rows: readonly ListedProfile[]): void => {
        if (format === 'json')
          for (const row of rows) screen.write(`${printableLine(JSON.stringify(row))}\n`);
        else printRows(rows, format, isMore);
        isMore = true;
      };
      await withClient((client) => tail({ client, filter, print, note }));
    });

  program
    .command('export')
    .description('one request, or all that match, as a file')
    .argument('[what...]', 'a token, or filters as in the search box; default: all requests')
    .addOption(new Option('-f, --format <format>', 'file format').choices(EXPORT_FORMATS).default('json'))
    .option('-o, --output <file>', 'file to write (default: standard output)')
    .option('-n, --limit <number>', 'only the newest requests, at most this many', readCount)
    .action((words: string[], given: { format: ExportFormat; output?: string; limit?: number }) =>
      withClient((client) =>
        exportProfiles({
          client,
          what: words.join(' '),
          format: given.format,
          limit: given.limit ?? Infinity,
          file: given.output,
          stdout: options.stdout,
          version: options.version,
          note,
        }),
      ),
    );

  program
    .command('prune')
    .description('delete old profiles of a project or a database, except pinned ones')
    .option('--older-than <age>', 'requests older than this: 90m, 12h, 7d', readAge)
    .option('--keep <number>', 'all but this many newest requests', readCount)
    .option('-y, --yes', 'do not ask', false)
    .action(async ({ olderThan, keep, yes }: { olderThan?: number; keep?: number; yes: boolean }) => {
      if (olderThan === undefined && keep === undefined)
        throw new CommandError('Say what to delete: --older-than <age>, --keep <number>, or both.', FAILED);
      await withStore((store) =>
        prune({
          store,
          limits: {
            olderThan: olderThan === undefined ? null : Date.now() - olderThan,
            keep: keep ?? null,
          },
          print: screen.write,
          note,
          confirm: yes ? null : options.confirm,
        }),
      );
    });

  program
    .command('mcp')
    .description('an MCP server on standard input and output, for coding agents')
    .action(async () => {
      // First, so that a missing SDK is named even if no application runs.
      const sdk = await loadMcpSdk();
      const { stdin, stdout, version } = options;
      await withClient((client) => serveMcp({ sdk, client, stdin, stdout, version, note }));
    });
  return program;
}

/** Returns the exit code. */
export async function runProgram(args: readonly string[], options: ProgramOptions): Promise<number> {
  try {
    await createProgram(options).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has printed its message.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : FAILED;
    if (!(error instanceof CommandError || isHindsightError(error))) throw error;
    options.note(printableText(error.message));
    return error instanceof CommandError ? error.exitCode : FAILED;
  }
}
