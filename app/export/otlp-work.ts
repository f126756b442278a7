/**
 * The work of a request, as panels stored it -> spans in OpenTelemetry's names, before they have ids: one function a panel. Reads a stored
 * document as well as the complete profile of a page. Values of statements, mails and jobs are not exported.
 */
import type { GraphqlData } from '../panels/graphql/index.ts';
import type { HttpClientData } from '../panels/http-client/data.ts';
import type { LogsData } from '../panels/logs/data.ts';
import type { MailData } from '../panels/mail/index.ts';
import type { ProcessesData } from '../panels/processes/index.ts';
import type { Kept } from '../panels/shared/panel-data.ts';
import { aboutStatement, labelOfStatement } from '../panels/shared/about-statement.ts';
import type { ProfileDocument } from '../profiler/profile.ts';
import { namedHeader } from '../profiler/record/raw-headers.ts';
import { type Attributes, SPAN_KIND } from './otlp-model.ts';

type Head = Omit<ProfileDocument, 'panels' | 'version' | 'statusMessage' | 'findings' | 'masked'>;

export type ExportedProfile = Head & {
  panels: Readonly<Record<string, { data?: unknown }>>;
  findings?: readonly { label: string }[] | undefined;
};

export interface Work {
  /** Unique within the profile. */
  row: number;
  /** Row of the span around it; absent: the request. */
  inside?: number | undefined;
  name: string;
  kind: number;
  startMs: number;
  /** null: it had not ended when the profile was stored. */
  durationMs: number | null;
  /** Id that the called service got; absent: the id of the row. */
  spanId?: string | undefined;
  /** What failed, in one line. */
  error: string | null;
  /** `error.type`; default: the class in `error`. */
  errorType?: string | undefined;
  attributes: Attributes;
}

type PanelData = Omit<Kept, 'logs'> & {
  graphql: GraphqlData;
  logs: LogsData;
  mail: MailData;
  processes: ProcessesData;
};

export function dataOf<Name extends keyof PanelData>(
  { panels }: ExportedProfile,
  panel: Name,
): PanelData[Name] | null {
  return (panels[panel]?.data as PanelData[Name] | null | undefined) ?? null;
}

/** Each panel has a range of rows; the first number is the request's. */
const ROWS = [
  'database',
  'http_client',
  'cache',
  'views',
  'graphql',
  'mail',
  'jobs',
  'processes',
  'spans',
] as const;
const ROWS_OF_PANEL = 2 ** 24;

function rowOf(panel: (typeof ROWS)[number], index: number): number {
  return (ROWS.indexOf(panel) + 1) * ROWS_OF_PANEL + index;
}

/** `src/orders.ts:41`. */
export function codeOf(place: string | null | undefined): Attributes {
  const [, file, line] = /^(.+?):(\d+)(?::\d+)?$/.exec(place ?? '') ?? [];
  return { 'code.file.path': file, 'code.line.number': line === undefined ? undefined : Number(line) };
}

/** The class of an error that was recorded as `TypeError: message`. */
export function errorType(error: string): string {
  return /^[A-Za-z_$][\w$.]*(?=: |$)/.exec(error)?.[0] ?? '_OTHER';
}

/** What the entries of these panels have in common. */
interface Entry {
  startMs: number;
  durationMs: number | null;
  error?: string | null;
  caller?: string | null;
}

/** `describe` adds what differs from one panel to the next. */
function worksOf<E extends Entry>(
  panel: (typeof ROWS)[number],
  entries: readonly E[] | undefined,
  describe: (entry: E) => Pick<Work, 'name' | 'kind'> & Partial<Work>,
): Work[] {
  return (entries ?? []).map((entry, index) => {
    const { startMs, durationMs, error = null, caller } = entry;
    const described = describe(entry);
    const attributes = { ...described.attributes, ...codeOf(caller) };
    return { row: rowOf(panel, index), startMs, durationMs, error, ...described, attributes };
  });
}

/** `db.system.name` where OpenTelemetry's name is another. */
const SYSTEMS: Readonly<Record<string, string>> = {
  mssql: 'microsoft.sql_server',
  oracle: 'oracle.db',
  other: 'other_sql',
};

/** `host:port/database`; without a port it is a socket, or as much as is known. */
function databaseServerOf(server: string | null | undefined): Attributes {
  const [, address = server, port, database] = /^(.+):(\d+)(?:\/(.*))?$/.exec(server ?? '') ?? [];
  const isSocket = address?.startsWith('/') === true;
  return {
    'server.address': address?.replace(/^\[|\]$/g, ''),
    'server.port': port === undefined || isSocket ? undefined : Number(port),
    'db.namespace': database,
  };
}

function queries(profile: ExportedProfile): Work[] {
  const data = dataOf(profile, 'database');
  const statements = data?.statements.map((it) => ({ ...it, label: labelOfStatement(it) })) ?? [];
  return worksOf('database', data?.queries, ({ statement, durationMs, waitMs, rows }) => {
    const { sql, system = 'other', label, server } = statements[statement] ?? { sql: '', label: '' };
    const { name, table } = aboutStatement(sql, system).operation;
    // A wait for a connection that no statement followed.
    const isWait = sql === '';
    return {
      name: isWait ? 'connection pool wait' : label,
      kind: isWait ? SPAN_KIND.internal : SPAN_KIND.client,
      durationMs: isWait ? waitMs : durationMs,
      attributes: {
        'db.system.name': SYSTEMS[system] ?? system,
        'db.query.text': sql,
        'db.query.summary': isWait ? undefined : label,
        'db.operation.name': system === 'mongodb' ? name : name.toUpperCase(),
        'db.collection.name': table,
        ...databaseServerOf(server),
        'db.response.returned_rows': /^\s*select\b/i.test(sql) ? rows : undefined,
        'hindsight.connection.wait_ms': waitMs > 0 ? waitMs : undefined,
      },
    };
  });
}

/** Scheme, host (of IPv6 without brackets) and port. */
const SERVER =
  /^([a-z][a-z0-9+.-]*):\/\/(?:[^/?#@]*@)?\[?([^/?#@[\]:]+|[0-9a-f:.]+(?=\]))\]?(?::(\d{1,5}))?(?:[/?#]|$)/i;

export function serverOf(url: string | null | undefined): Attributes {
  const [, scheme = '', host, port] = SERVER.exec(url ?? '') ?? [];
  if (host === undefined) return {};
  const usual = scheme.toLowerCase() === 'https' ? 443 : 80;
  return { 'server.address': host, 'server.port': port === undefined ? usual : Number(port) };
}

const METHODS = new Set(
  ['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'QUERY', 'TRACE'], // prettier-ignore
);

/** A method that HTTP does not know could be anything; names of spans must be few. */
export function methodOf(method: string): { name: string; attributes: Attributes } {
  if (METHODS.has(method)) return { name: method, attributes: { 'http.request.method': method } };
  return {
    name: 'HTTP',
    attributes: { 'http.request.method': '_OTHER', 'http.request.method_original': method },
  };
}

type SentHeaders = HttpClientData['calls'][number]['requestHeaders'];

/** The span id that was passed on with a call of this trace; a proxy forwards that of its caller, which is another span. */
function passedOn({ trace }: ExportedProfile, headers: SentHeaders): string | undefined {
  const sent = namedHeader(headers, 'traceparent');
  const [, traceId, spanId] = sent?.split('-') ?? [];
  return trace !== undefined && traceId === trace.traceId && spanId !== trace.parentId ? spanId : undefined;
}

function calls(profile: ExportedProfile): Work[] {
  return worksOf('http_client', dataOf(profile, 'http_client')?.calls, (call) => {
    const { url, status, error, link, requestHeaders } = call;
    const method = methodOf(call.method.toUpperCase());
    const isRefused = status !== null && status >= 400;
    return {
      spanId: passedOn(profile, requestHeaders),
      name: method.name,
      kind: SPAN_KIND.client,
      error: error ?? (isRefused ? `status ${status}` : null),
      errorType: isRefused ? String(status) : undefined,
      attributes: {
        'url.full': url,
        'http.response.status_code': status,
        'hindsight.link': link,
        ...method.attributes,
        ...serverOf(url),
      },
    };
  });
}

function commands(profile: ExportedProfile): Work[] {
  const { items = [] } = dataOf(profile, 'cache') ?? {};
  const works = worksOf('cache', items, ({ command, key, hits, asked, connection }) => ({
    name: command,
    kind: SPAN_KIND.client,
    attributes: {
      'db.system.name': 'redis',
      'db.operation.name': command,
      'db.query.text': key === null ? command : `${command} ${key}`,
      ...databaseServerOf(connection),
      'hindsight.cache.hits': hits,
      'hindsight.cache.asked': asked > 0 ? asked : undefined,
    },
  }));
  // A call of a cache in the process takes no time.
  return works.filter((_work, index) => items[index]?.system === 'redis');
}

function views(profile: ExportedProfile): Work[] {
  return worksOf('views', dataOf(profile, 'views')?.views, ({ name, file, parent }) => ({
    inside: parent === null ? undefined : rowOf('views', parent),
    name: `render ${name}`,
    kind: SPAN_KIND.internal,
    attributes: { 'hindsight.view.file': file },
  }));
}

function operations(profile: ExportedProfile): Work[] {
  const data = dataOf(profile, 'graphql');
  return worksOf('graphql', data?.items, ({ type, operation, document, errors }) => ({
    name: type ?? 'GraphQL Operation',
    kind: SPAN_KIND.internal,
    error: errors[0]?.message ?? null,
    attributes: {
      'graphql.operation.type': type,
      'graphql.operation.name': operation,
      'graphql.document': document,
    },
  }));
}

function mails(profile: ExportedProfile): Work[] {
  return worksOf('mail', dataOf(profile, 'mail')?.items, ({ transport }) => ({
    name: 'send mail',
    kind: SPAN_KIND.client,
    attributes: { 'hindsight.mail.transport': transport },
  }));
}

function jobs(profile: ExportedProfile): Work[] {
  return worksOf('jobs', dataOf(profile, 'jobs')?.items, ({ queue, id }) => ({
    name: `send ${queue}`,
    kind: SPAN_KIND.producer,
    attributes: {
      'messaging.system': 'bullmq',
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
      'messaging.destination.name': queue,
      'messaging.message.id': id,
    },
  }));
}

function processes(profile: ExportedProfile): Work[] {
  const data = dataOf(profile, 'processes');
  return worksOf('processes', data?.items, ({ command, exitCode, signal, error }) => {
    const [program = ''] = command.trim().split(/\s/);
    const code = exitCode ?? 0;
    const failed = signal !== null ? `ended by ${signal}` : code === 0 ? null : `exit code ${code}`;
    return {
      name: `run ${program}`,
      kind: SPAN_KIND.internal,
      error: error ?? failed,
      attributes: { 'process.executable.name': program, 'process.exit.code': exitCode },
    };
  });
}

function ownSpans(profile: ExportedProfile): Work[] {
  return worksOf('spans', dataOf(profile, 'spans')?.items, ({ name, inside }) => ({
    inside: inside === null ? undefined : rowOf('spans', inside),
    name,
    kind: SPAN_KIND.internal,
  }));
}

const PANELS = [queries, calls, commands, views, operations, mails, jobs, processes, ownSpans];

export function workOf(profile: ExportedProfile): Work[] {
  return PANELS.flatMap((work) => work(profile));
}
