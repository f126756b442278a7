/**
 * What panels stored of a request's work -> spans in OpenTelemetry's names, before they have ids: one function a panel. Reads a stored
 * document as well as the complete profile of a page. Values of statements, mails and jobs are not exported.
 */
import type { CacheData } from '../panels/cache/data.ts';
import type { KeptDatabase } from '../panels/database/data.ts';
import type { ExceptionData } from '../panels/exception/data.ts';
import type { GraphqlData } from '../panels/graphql/index.ts';
import type { HttpClientData } from '../panels/http-client/data.ts';
import type { JobsData } from '../panels/jobs/index.ts';
import type { LogsData } from '../panels/logs/data.ts';
import type { MailData } from '../panels/mail/index.ts';
import type { ProcessesData } from '../panels/processes/index.ts';
import type { KeptRequest } from '../panels/request/data.ts';
import type { SpansData } from '../panels/spans/index.ts';
import { labelOf, labelOfStatement } from '../panels/shared/statements.ts';
import type { ViewsData } from '../panels/views/data.ts';
import { dropOldest } from '../profiler/drop-oldest.ts';
import type { ProfileDocument } from '../profiler/profile.ts';
import { type Attributes, SPAN_KIND } from './otlp-model.ts';

type Head = Omit<ProfileDocument, 'panels' | 'version' | 'statusMessage' | 'findings' | 'masked'>;

/** What is read of a document or a profile. */
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
  attributes: readonly Attributes[];
}

/** What is read of the panels. */
interface PanelData {
  cache: CacheData;
  database: KeptDatabase;
  exception: ExceptionData;
  graphql: GraphqlData;
  http_client: HttpClientData;
  jobs: JobsData;
  logs: LogsData;
  mail: MailData;
  processes: ProcessesData;
  request: KeptRequest;
  spans: SpansData;
  views: ViewsData;
}

/** Stored data of a panel; null if it recorded nothing. */
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

/** Texts whose results are remembered, of each kind; an application has few statements, places and addresses. */
const MOST_KNOWN = 500;
const LONGEST_KNOWN = 2000;

/** `make`, which costs more than all else that is done with its text, once for each text. */
function remembering<Made>(make: (text: string) => Made): (text: string) => Made {
  const known = new Map<string, Made>();
  return (text) => {
    if (text.length > LONGEST_KNOWN) return make(text);
    let made = known.get(text);
    if (made === undefined) {
      known.set(text, (made = make(text)));
      dropOldest(known, MOST_KNOWN);
    }
    return made;
  };
}

const knownCode = remembering((place): Attributes => {
  const [, file, line] = /^(.+?):(\d+)(?::\d+)?$/.exec(place) ?? [];
  return { 'code.file.path': file, 'code.line.number': line === undefined ? undefined : Number(line) };
});

/** `src/orders.ts:41`. */
export function codeOf(place: string | null | undefined): Attributes {
  return knownCode(place ?? '');
}

/** The class of an error that was recorded as `TypeError: message`. */
export function errorType(error: string): string {
  return /^[A-Za-z_$][\w$.]*(?=: |$)/.exec(error)?.[0] ?? '_OTHER';
}

/** `db.system.name` where OpenTelemetry's name is another. */
const SYSTEMS: Readonly<Record<string, string>> = {
  mssql: 'microsoft.sql_server',
  oracle: 'oracle.db',
  other: 'other_sql',
};

const knownLabel = remembering(labelOf);

function queries(profile: ExportedProfile): Work[] {
  const data = dataOf(profile, 'database');
  return (data?.queries ?? []).map((query, index): Work => {
    const statement = data?.statements[query.statement] ?? { sql: '' };
    const { sql, system = 'other' } = statement;
    const { startMs, waitMs, rows, error } = query;
    // A wait for a connection that no statement followed.
    const isWait = sql === '';
    const label = labelOfStatement(statement, knownLabel);
    return {
      row: rowOf('database', index),
      name: isWait ? 'connection pool wait' : label,
      kind: isWait ? SPAN_KIND.internal : SPAN_KIND.client,
      startMs,
      durationMs: isWait ? waitMs : query.durationMs,
      error,
      attributes: [
        {
          'db.system.name': SYSTEMS[system] ?? system,
          'db.query.text': sql,
          'db.query.summary': isWait ? undefined : label,
          'db.response.returned_rows': /^\s*select\b/i.test(sql) ? rows : undefined,
          'hindsight.connection.wait_ms': waitMs > 0 ? waitMs : undefined,
        },
        codeOf(query.caller),
      ],
    };
  });
}

/** Scheme, host (of IPv6 without brackets) and port. */
const SERVER =
  /^([a-z][a-z0-9+.-]*):\/\/(?:[^/?#@]*@)?\[?([^/?#@[\]:]+|[0-9a-f:.]+(?=\]))\]?(?::(\d{1,5}))?(?:[/?#]|$)/i;

const knownServer = remembering((url): Attributes => {
  const [, scheme = '', host, port] = SERVER.exec(url) ?? [];
  if (host === undefined) return {};
  const usual = scheme.toLowerCase() === 'https' ? 443 : 80;
  return { 'server.address': host, 'server.port': port === undefined ? usual : Number(port) };
});

/** `host` and `port` of an address. */
export function serverOf(url: string | null | undefined): Attributes {
  return knownServer(url ?? '');
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
  const sent = headers.find(({ name }) => name.toLowerCase() === 'traceparent')?.value;
  const [, traceId, spanId] = sent?.split('-') ?? [];
  return trace !== undefined && traceId === trace.traceId && spanId !== trace.parentId ? spanId : undefined;
}

function calls(profile: ExportedProfile): Work[] {
  const data = dataOf(profile, 'http_client');
  return (data?.calls ?? []).map((call, index): Work => {
    const { url, status, error, startMs, durationMs, link, caller, requestHeaders } = call;
    const method = methodOf(call.method.toUpperCase());
    const isRefused = status !== null && status >= 400;
    return {
      row: rowOf('http_client', index),
      spanId: passedOn(profile, requestHeaders),
      name: method.name,
      kind: SPAN_KIND.client,
      startMs,
      durationMs,
      error: error ?? (isRefused ? `status ${status}` : null),
      errorType: isRefused ? String(status) : undefined,
      attributes: [
        {
          'url.full': url,
          'http.response.status_code': status,
          'hindsight.link': link,
        },
        method.attributes,
        serverOf(url),
        codeOf(caller),
      ],
    };
  });
}

function commands(profile: ExportedProfile): Work[] {
  const data = dataOf(profile, 'cache');
  return (data?.commands ?? []).map((entry, index): Work => {
    const { command, key, startMs, durationMs, error, hits, asked, caller } = entry;
    return {
      row: rowOf('cache', index),
      name: command,
      kind: SPAN_KIND.client,
      startMs,
      durationMs,
      error,
      attributes: [
        {
          'db.system.name': 'redis',
          'db.operation.name': command,
          'db.query.text': key === null ? command : `${command} ${key}`,
          'hindsight.cache.hits': hits,
          'hindsight.cache.asked': asked > 0 ? asked : undefined,
        },
        codeOf(caller),
      ],
    };
  });
}

function views(profile: ExportedProfile): Work[] {
  const data = dataOf(profile, 'views');
  return (data?.views ?? []).map(({ name, file, parent, startMs, durationMs, error, caller }, index): Work => ({
    row: rowOf('views', index),
    inside: parent === null ? undefined : rowOf('views', parent),
    name: `render ${name}`,
    kind: SPAN_KIND.internal,
    startMs,
    durationMs,
    error,
    attributes: [{ 'hindsight.view.file': file }, codeOf(caller)],
  })); // prettier-ignore
}

function operations(profile: ExportedProfile): Work[] {
  const data = dataOf(profile, 'graphql');
  return (data?.operations ?? []).map((entry, index): Work => {
    const { type, operation, document, startMs, durationMs, errors } = entry;
    return {
      row: rowOf('graphql', index),
      name: type ?? 'GraphQL Operation',
      kind: SPAN_KIND.internal,
      startMs,
      durationMs,
      error: errors[0]?.message ?? null,
      attributes: [
        {
          'graphql.operation.type': type,
          'graphql.operation.name': operation,
          'graphql.document': document,
        },
      ],
    };
  });
}

function mails(profile: ExportedProfile): Work[] {
  const data = dataOf(profile, 'mail');
  return (data?.mails ?? []).map(({ transport, startMs, durationMs, error, caller }, index): Work => ({
    row: rowOf('mail', index),
    name: 'send mail',
    kind: SPAN_KIND.client,
    startMs,
    durationMs,
    error,
    attributes: [{ 'hindsight.mail.transport': transport }, codeOf(caller)],
  }));
}

function jobs(profile: ExportedProfile): Work[] {
  const data = dataOf(profile, 'jobs');
  return (data?.added ?? []).map(({ queue, id, startMs, durationMs, error, caller }, index): Work => ({
    row: rowOf('jobs', index),
    name: `send ${queue}`,
    kind: SPAN_KIND.producer,
    startMs,
    durationMs,
    error,
    attributes: [
      {
        'messaging.system': 'bullmq',
        'messaging.operation.name': 'send',
        'messaging.operation.type': 'send',
        'messaging.destination.name': queue,
        'messaging.message.id': id,
      },
      codeOf(caller),
    ],
  }));
}

function processes(profile: ExportedProfile): Work[] {
  const data = dataOf(profile, 'processes');
  return (data?.processes ?? []).map((entry, index): Work => {
    const { command, exitCode, signal, startMs, durationMs, error, caller } = entry;
    const [program = ''] = command.trim().split(/\s/);
    const failed = signal !== null ? `ended by ${signal}` : (exitCode ?? 0) === 0 ? null : `exit code ${exitCode}`;
    return {
      row: rowOf('processes', index),
      name: `run ${program}`,
      kind: SPAN_KIND.internal,
      startMs,
      durationMs,
      error: error ?? failed,
      attributes: [{
        'process.executable.name': program,
        'process.exit.code': exitCode,
      }, codeOf(caller)],
    };
  }); // prettier-ignore
}

function ownSpans(profile: ExportedProfile): Work[] {
  const data = dataOf(profile, 'spans');
  return (data?.spans ?? []).map(({ name, inside, startMs, durationMs, error, caller }, index): Work => ({
    row: rowOf('spans', index),
    inside: inside === null ? undefined : rowOf('spans', inside),
    name,
    kind: SPAN_KIND.internal,
    startMs,
    durationMs,
    error,
    attributes: [codeOf(caller)],
  }));
}

const PANELS = [queries, calls, commands, views, operations, mails, jobs, processes, ownSpans];

/** In the order of the panels. */
export function workOf(profile: ExportedProfile): Work[] {
  return PANELS.flatMap((work) => work(profile));
}
