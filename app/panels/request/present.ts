import type { EmptyState, PresentFrom } from '../../profiler/panel.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { Figure, Presentation, Row, Section } from '../../profiler/read/rows.ts';
import { authorsText } from '../shared/header-authors.ts';
import { noteOf } from '../../view-helpers/amount.ts';
import { bytesText } from '../../view-helpers/numbers.ts';
import { toTest } from './as-test.ts';
import { foldedRow, formFields, receivedSection, sentSection } from './bodies.ts';
import { leavesBodyOut, toCurl } from './curl.ts';
import type { RequestPanelData } from './data.ts';

/** Longer bodies are mentioned, not included. */
const LONGEST_BODY = 4000;

function oneLine(text: string): string {
  return text.replace(/[\r\n]+/g, ' ');
}

interface RawHttp {
  lines: string[];
  bodyLeftOut: string | null;
}

/** As the lines that went over the wire, for tools that read them (`.http` files, proxies, netcat). */
function toHttp(data: RequestPanelData): RawHttp {
  const { body, method, url, httpVersion, headers } = data;
  const head = [
    `${oneLine(method)} ${oneLine(url)} HTTP/${httpVersion}`,
    ...headers.map(({ name, value }) => `${oneLine(name)}: ${oneLine(value)}`),
    '',
  ];
  if (body === null || body.bytes === 0) return { lines: head, bodyLeftOut: null };
  if (body.text === null) {
    const isForm = /^multipart\//i.test(body.contentType ?? '');
    return {
      lines: head,
      bodyLeftOut: isForm ? 'parts of a form are not recorded as they were sent' : 'it is binary',
    };
  }
  if (body.truncated) return { lines: head, bodyLeftOut: 'only its beginning was recorded' };
  if (body.text.length > LONGEST_BODY) return { lines: head, bodyLeftOut: 'it is long; see above' };
  return { lines: [...head, ...body.text.split('\n')], bodyLeftOut: null };
}

/** Headers that differ between any two requests, or only because one was sent again. */
const VARYING = new Set([
  'date', 'x-request-id', 'x-debug-token', 'x-debug-token-link', 'x-previous-debug-token', 'traceparent',
  'connection', 'keep-alive', 'x-debug-profile',
]); // prettier-ignore

function figuresOf(data: RequestPanelData, { trace }: Profile): Figure[] {
  const { body, response, jar, sessionAndUser } = data;
  return [
    {
      label: 'Time to headers',
      value: response?.headersAtMs ?? null,
      unit: 'ms',
      compare: 'cost',
      measured: true,
    },
    { label: 'Response type', value: response?.contentType ?? null },
    { label: 'Response size', value: response?.bytes ?? null, unit: 'bytes', compare: 'cost' },
    { label: 'Request size', value: body?.bytes ?? null, unit: 'bytes', compare: 'cost' },
    { label: 'Cookies', value: jar.length > 0 ? jar.length : null },
    { label: 'Session or user', value: sessionAndUser === null ? null : 'recorded' },
    { label: 'Trace', value: trace?.traceId ?? null },
  ];
}

function maskRule({ masked }: Profile, path: string): string | null {
  const where = `panels.request.data.${path}`;
  const found = masked.find((entry) => entry.where === where || entry.where.startsWith(`${where}.`));
  return found === undefined ? null : `masked: ${found.rule}`;
}

type Named = readonly { name: string; value: Row['text'] }[];

function valueRows(profile: Profile, rows: Named, list: string): Row[] {
  return rows.map(({ name, value }, index) => ({
    label: name,
    note: maskRule(profile, `${list}[${index}]`),
    ...(value === undefined ? {} : { text: value }),
  }));
}

function varyingOf(name: string): Pick<Row, 'varies'> {
  return VARYING.has(name.toLowerCase()) ? { varies: true } : {};
}

function receivedHeaders({ headers }: RequestPanelData, profile: Profile): Section {
  return {
    id: 'request-headers',
    title: 'Request headers',
    note: 'in the order sent',
    values: 'request header',
    rows: valueRows(profile, headers, 'headers').map((row) => ({ ...row, ...varyingOf(row.label ?? '') })),
    none: 'No header was sent.',
  };
}

function sentHeaders({ response }: RequestPanelData, profile: Profile): Section {
  const section = {
    id: 'response',
    title: 'Response headers',
    values: 'response header',
    columns: { label: 'Header', note: 'Set by', place: 'Defined at' },
    none: profile.state === 'running' ? 'Headers not sent yet.' : 'No response was sent.',
  };
  if (response === null || response.status === null) return { ...section, rows: [] };
  const { status, statusMessage, headers, bytes, authors } = response;
  const sent = headers.map(({ name, value }, index): Row => {
    const steps = authors?.sent[index] ?? [];
    const by = steps.length === 0 ? null : authorsText(steps);
    return {
      id: `rh-${index + 1}`,
      label: name,
      text: value,
      note: noteOf([by, maskRule(profile, `response.headers[${index}]`)]) || null,
      place: steps.at(-1)?.place ?? null,
      ...varyingOf(name),
    };
  });
  const removed = (authors?.removed ?? []).map(({ name, steps }): Row => ({
    label: name,
    badges: ['not sent'],
    note: authorsText(steps),
  }));
  const note = noteOf([`${status} ${statusMessage}`.trim(), bytesText(bytes)]);
  return { ...section, note, rows: [...sent, ...removed] };
}

function lateSection({ response }: RequestPanelData): Section {
  return {
    id: 'refused',
    title: 'Came too late',
    unit: 'at',
    columns: { text: 'Change', note: 'By' },
    rows: (response?.refused ?? []).map(({ method, name, by, atMs }, index) => ({
      id: `late-${index + 1}`,
      text: name === null ? `${method}()` : `${method} ${name.slice(0, 100)}`,
      number: atMs,
      note: by ?? 'not known',
    })),
  };
}

function cookieSection({ jar }: RequestPanelData): Section {
  return {
    id: 'cookies',
    title: 'Cookies received',
    note: 'values of cookies are not recorded',
    unit: 'bytes',
    columns: { label: 'Name', number: 'Length' },
    rows: jar.map(({ name, length }, index) => ({
      id: `cookie-${index + 1}`,
      label: name || '(no name)',
      number: length,
    })),
  };
}

function sessionRows({ sessionAndUser }: RequestPanelData, profile: Profile): Row[] {
  if (sessionAndUser === null) return [];
  const { late, unread = [] } = sessionAndUser;
  const rows = (['session', 'user'] as const).flatMap((name): Row[] => {
    const value = sessionAndUser[name];
    if (value === undefined) return [];
    const path = `sessionAndUser.${name}`;
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return [{ label: name, text: value, note: maskRule(profile, path) }];
    const entries = Object.entries(value);
    if (entries.length === 0) return [{ label: name, note: 'empty' }];
    return entries.map(([key, item]) => ({
      id: `${name}-${key}`,
      label: `${name}.${key}`,
      text: item,
      note: maskRule(profile, `${path}.${key}`),
    }));
  });
  if (late !== undefined)
    rows.push({
      label: 'Changed late',
      text: late.map((name) => `req.session.${name}`).join(', '),
      tone: 'warn',
      note: 'after the headers were sent, and not shown. express-session saves when end() is called, so later changes are lost.',
    });
  for (const name of unread)
    rows.push({
      label: `req.${name}`,
      note: 'behind an accessor: not read, because reading could start or save a session.',
    });
  return rows;
}

function hopRows({ client }: RequestPanelData): Row[] {
  const { address, chain, port, trusted } = client;
  const addresses = chain.length === 0 ? [address] : chain;
  return addresses.map((hop, index) => {
    const isPeer = index === addresses.length - 1;
    const said = isPeer
      ? trusted
        ? 'trusted proxy: its headers were used'
        : 'only its address: its forwarded headers had no effect'
      : hop === address
        ? 'nearest untrusted address'
        : 'as forwarded';
    return {
      label: hop === address ? 'Client' : isPeer ? 'Peer' : 'Proxy',
      text: hop,
      note: noteOf([isPeer ? `port ${port}` : '', addresses.length === 1 ? 'connected directly' : said]),
    };
  });
}

function clientSection(data: RequestPanelData, { trace }: Profile): Section {
  const { client, requestId, receivedRequestId } = data;
  const caller = trace?.parentId ?? null;
  return {
    id: 'client',
    title: 'Client and proxies',
    rows: [
      ...hopRows(data),
      { label: 'Origin', text: client.origin ?? client.hostError ?? 'unknown' },
      {
        label: 'Request id',
        text: requestId,
        note:
          receivedRequestId === null
            ? null
            : `generated here; received and replaced: ${receivedRequestId.slice(0, 200)}`,
      },
      ...(trace === undefined
        ? []
        : [
            {
              id: 'trace',
              label: 'Trace',
              text: trace.traceId,
              note:
                caller === null
                  ? 'started by this request’s first outgoing call'
                  : `of its caller, whose span is ${caller}`,
            },
          ]),
    ],
  };
}

function maskedSection({ masked }: Profile): Section {
  return {
    id: 'masked',
    title: 'Masked in this profile',
    columns: { text: 'Place', note: 'Rule' },
    rows: masked.map(({ where, rule }, index) => ({
      id: `mask-${index + 1}`,
      text: where.slice(0, 300),
      note: rule,
    })),
    none: 'Nothing in this profile had to be masked.',
    inMarkdown: false,
  };
}

function curlSection(data: RequestPanelData, { masked }: Profile): Section {
  const why = data.body?.truncated ? 'only its beginning was recorded' : 'it is binary, or no parser read it';
  const note = noteOf([
    leavesBodyOut(data) ? `without the body: ${why}` : '',
    masked.length > 0 ? 'masked values are not included: fill in your own' : '',
  ]);
  return {
    id: 'as-curl',
    title: 'As cURL',
    ...(note === '' ? {} : { note }),
    rows: [{ id: 'curl', block: { text: toCurl(data).join('\n'), language: 'sh' } }],
  };
}

function testSection(data: RequestPanelData, profile: Profile): Section {
  const text = toTest(data, profile).join('\n');
  const title = 'For mocha, supertest and chai; fails until the fault is fixed';
  return {
    id: 'as-test',
    title: 'As test',
    rows: text === '' ? [] : [foldedRow('test', title, { text, language: 'ts' })],
    inMarkdown: false,
  };
}

function httpSection(data: RequestPanelData): Section {
  const { lines, bodyLeftOut } = toHttp(data);
  return {
    id: 'as-http',
    title: 'Request as HTTP',
    ...(bodyLeftOut === null ? {} : { note: `without its body: ${bodyLeftOut}` }),
    rows: [foldedRow('http', 'As it came over the wire', { text: lines.join('\n'), language: 'http' })],
    inMarkdown: false,
  };
}

export function presentRequest(
  data: RequestPanelData,
  { profile }: Pick<PresentFrom, 'profile'>,
): Presentation {
  const { query, routeParams, body } = data;
  const { status } = profile;
  const { fields, isParsed } = formFields(data);
  return {
    card: {
      text: status === null ? 'no response yet' : `${status} ${profile.statusMessage}`.trim(),
      tone: status === null || status < 400 ? 'plain' : status < 500 ? 'warn' : 'bad',
    },
    figures: figuresOf(data, profile),
    sections: [
      { id: 'query', title: 'Query string', values: 'query', rows: valueRows(profile, query, 'query') },
      {
        id: 'route-parameters',
        title: 'Route parameters',
        values: 'route parameter',
        rows: valueRows(profile, routeParams, 'routeParams'),
      },
      receivedHeaders(data, profile),
      {
        id: 'fields',
        title: 'Form',
        ...(isParsed ? {} : { note: 'no parser read it; fields as sent' }),
        rows: valueRows(profile, fields, 'body.fields'),
      },
      {
        id: 'files',
        title: 'Files',
        unit: 'bytes',
        columns: { label: 'Field', text: 'File' },
        rows: (body?.files ?? []).map(({ field, name, contentType, bytes }, index) => ({
          id: `file-${index + 1}`,
          label: field,
          text: name,
          number: bytes,
          fields: [{ label: 'Type', value: contentType }],
        })),
      },
      receivedSection(data),
      sentHeaders(data, profile),
      lateSection(data),
      sentSection(data, profile),
      cookieSection(data),
      {
        id: 'session',
        title: 'Session and user',
        note: 'as they were when the headers were sent',
        rows: sessionRows(data, profile),
      },
      clientSection(data, profile),
      curlSection(data, profile),
      testSection(data, profile),
      httpSection(data),
      maskedSection(profile),
    ],
  };
}

export function noRequest(): EmptyState {
  return {
    what: 'Nothing was recorded for this request.',
    why: 'Its request line could not be read, or its profile could not be built.',
  };
}
