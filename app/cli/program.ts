/** The command line: arguments -> a request to the profiler's pages -> text. The profiler itself is not loaded. */
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import type { Readable, Writable } from 'node:stream';
import { isHindsightError } from '../errors.ts';
import { tokenIn, urls } from '../urls.ts';
import { type Client, CommandError, FAILED, type FoundList, NOTHING_FOUND, readList } from './client.ts';
import { EXPORT_FORMATS, type ExportFormat, exportProfiles } from './export.ts';
import { init } from './init.ts';
import { callTool, serveMcp } from './mcp.ts';
import {
  LIST_FORMATS, type ListedProfile, type ListFormat, markdownTable, printableJson, printableLine, printableText, type Screen, table,
} from './print.ts'; // prettier-ignore
import { type PrunableStore, prune } from './prune.ts';
import { runRecorded } from './run.ts';
import { createSource, findProject, type OpenedStore, type Openers, type Source } from './source.ts';
import { tail } from './tail.ts';

export interface ProgramOptions extends Openers {
  env: Readonly<Record<string, string | undefined>>;
  screen: Screen;
  stdin: Readable;
  stdout: Writable;
  version: string;
  note: (sentence: string) => void;
  /** Asks whoever types; null: nobody can be asked. */
  confirm: (question: string) => Promise<boolean | null>;
  register: string;
}

interface GlobalOptions {
  url?: string;
  password?: string;
  database?: string;
  project?: string;
  schema: string;
}

type PageFormat = 'markdown' | 'json';

/** `request` leaves out assets of pages. */
const KINDS = ['request', 'asset', 'error_page', 'job', 'command', 'profiler', 'all'];
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

function readHeader(text: string, before: Record<string, string>): Record<string, string> {
  const [, name, value] = /^([^\s:]+):\s*(.*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('Give a header such as "cookie: sid=…".');
  return { ...before, [name]: value };
}

function readCount(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Give a whole number.');
  return Number(text);
}

function readToken(text: string): string {
  const token = tokenIn(text);
  if (token === null)
    throw new InvalidArgumentError('Give a token of six hexadecimal digits, or the address of its profile.');
  return token;
}

const listFormat = (): Option =>
  new Option('-f, --format <format>', 'output format').choices(LIST_FORMATS).default('table');
const pageFormat = (): Option =>
  new Option('-f, --format <format>', 'output format').choices(['markdown', 'json']).default('markdown');

function createProgram(options: ProgramOptions, setCode: (code: number) => void): Command {
  const { env, screen, note } = options;
  const program = new Command('express-hindsight');

  function sourceOfAll(): Source {
    const { url, password, ...given } = program.opts<GlobalOptions>();
    const named = url ?? (given.project === undefined ? env.PROFILER_URL || undefined : undefined);
    return createSource(
      {
        database: undefined,
        project: undefined,
        ...given,
        url: named,
        password: password ?? env.PROFILER_PASSWORD,
      },
      options,
      note,
    );
  }

  /** Of the application, or of what it has stored, which is open until `work` has ended. */
  async function withSource<T>(work: (source: Source) => Promise<T>): Promise<T> {
    const source = sourceOfAll();
    try {
      return await work(source);
    } finally {
      await source.close();
    }
  }
  const withClient = <T>(work: (client: Client) => Promise<T>, sends = false): Promise<T> =>
    withSource(async (source) => work(await source.client(sends)));
  const printRows = (rows: readonly ListedProfile[], format: ListFormat, isMore = false): void => {
    screen.write(format === 'table' ? table(rows, screen, isMore) : markdownTable(rows, isMore));
  };

  /** Of a database, or of the files of a project. */
  async function openStore(): Promise<OpenedStore> {
    const { database, schema, project } = program.opts<GlobalOptions>();
    const named = database ?? (project === undefined ? env.PROFILER_DATABASE_URL : undefined) ?? '';
    if (named !== '') return options.openDatabase({ database: named, schema, warn: note });
    const found = await findProject(options, project);
    if (found?.hasProfiles === true) return options.openFiles({ folder: found.folder, warn: note });
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

  async function find(client: Client, query: Record<string, string | number>): Promise<FoundList> {
    const found = await readList(client, query);
    if (found.notice !== null) note(found.notice);
    if (found.profiles.length === 0) throw new CommandError('No recorded request matches.', NOTHING_FOUND);
    return found;
  }

  /** The newest that failed, else the newest with a finding. */
  async function worstOf(client: Client): Promise<string> {
    for (const has of ['error', 'finding']) {
      const [row] = (await readList(client, { has, limit: 1 })).profiles;
      if (row === undefined) continue;
      if (has === 'finding') note('No recorded request failed. This is the newest with a finding.');
      return row.token;
    }
    const { total } = await readList(client, { limit: 1 });
    throw new CommandError(
      total === 0
        ? 'No request is recorded yet.'
        : `Of ${total} recorded requests none failed, and none has a finding.`,
      NOTHING_FOUND,
    );
  }

  /** What an agent would get. */
  async function tool(client: Client, name: string, args: object): Promise<void> {
    const { text, isError } = await callTool(client, name, args);
    if (isError) throw new CommandError(text, FAILED);
    screen.write(printableText(`${text.trimEnd()}\n`));
  }

  program
    .description('Recorded requests of an application that runs with Hindsight.')
    .version(options.version)
    .option('-u, --url <url>', 'address of the application (default: PROFILER_URL, else the application of this folder)')
    .option('--password <password>', 'password of the profiler (prefer PROFILER_PASSWORD: arguments are visible in ps)')
    .option('--project <folder>', 'the application in this folder, or its files (default: the working directory)')
    .option('--database <url>', 'read this PostgreSQL instead of the application (password: PGPASSWORD)')
    .option('--schema <name>', 'schema of the profiles in the database', DEFAULT_SCHEMA)
    .addHelpText('after', HELP)
    .exitOverride()
    .configureOutput({ writeOut: screen.write, writeErr: (text) => note(text.trimEnd()) }); // prettier-ignore

  program
    .command('list')
    .description('list recorded requests, newest first')
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
    .description('show one request with all panels')
    .argument('<token>', 'token of the request', readToken)
    .addOption(pageFormat())
    .action((token: string, { format }: { format: PageFormat }) =>
      withClient((client) => show(client, token, format)),
    );

  program
    .command('why')
    .description('explain a request (default: the latest failure)')
    .argument('[token]', 'token of the request', readToken)
    .addOption(pageFormat())
    .action((given: string | undefined, { format }: { format: PageFormat }) =>
      withClient(async (client) => {
        await show(client, given ?? (await worstOf(client)), format, '?length=short');
      }),
    );

  program
    .command('compare')
    .description('compare two requests')
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
    .command('verify')
    .description('after a change: send a request again, and show gone and new findings and differences of the response')
    .argument('<token>', 'token of the request', readToken)
    .option('-H, --header <header...>', 'value of a masked header: "cookie: sid=…"', readHeader, {})
    .action((token: string, { header: headers }: { header: Record<string, string> }) =>
      withClient((client) => tool(client, 'verify', { token, headers }), true),
    ); // prettier-ignore

  program
    .command('status')
    .description('show the stored requests, since when and where, and whether anything is missing')
    .action(() => withClient((client) => tool(client, 'status', {})));

  program
    .command('run')
    .description('start a command whose Node.js processes are recorded: run -- npm start')
    .argument('<command...>', 'the command and its arguments, after --')
    .action(async (command: string[]) => {
      setCode(await runRecorded({ command, env, register: options.register }));
    });

  program
    .command('init')
    .description('register the MCP server with the coding agents of this folder')
    .option('--undo', 'remove it again', false)
    .option('-y, --yes', 'do not ask', false)
    .action(({ undo, yes }: { undo: boolean; yes: boolean }) =>
      init({
        folder: process.cwd(),
        undo,
        print: screen.write,
        note,
        confirm: yes ? null : options.confirm,
      }),
    );

  program
    .command('tail')
    .description('follow new requests (Ctrl+C to stop)')
    .option('--filter <filters>', 'as in the search box', '')
    .addOption(new Option('--kind <kind>', 'kind of work').choices(KINDS))
    .addOption(listFormat())
    .action(async (given: { filter: string; kind?: string; format: ListFormat }) => {
      const { format, kind } = given;
      const filter = kind === undefined ? given.filter : `${given.filter} kind:${kind}`.trim();
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
    .description('export one request, or all that match, as a file')
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
        throw new CommandError(
          'Choose the profiles to delete: --older-than <age>, --keep <number>, or both.',
          FAILED,
        );
      await withStore((store) =>
        prune({
          store,
          limits: { maxAgeMs: olderThan ?? null, keep: keep ?? null },
          print: screen.write,
          confirm: yes ? null : options.confirm,
        }),
      );
    });

  program
    .command('mcp')
    .description('run an MCP server on standard input and output, for coding agents')
    .action(async () => {
      const { stdin, stdout, version } = options;
      await withSource((source) => serveMcp({ source, stdin, stdout, version, note }));
    });
  return program;
}

/** Returns the exit code. */
export async function runProgram(args: readonly string[], options: ProgramOptions): Promise<number> {
  try {
    let code = 0;
    await createProgram(options, (ended) => (code = ended)).parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    // Commander has printed its message.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : FAILED;
    if (!(error instanceof CommandError || isHindsightError(error))) throw error;
    options.note(printableText(error.message));
    return error instanceof CommandError ? error.exitCode : FAILED;
  }
}
