import type { EmptyState, PresentFrom } from '../../profiler/panel.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { NamedValue } from '../../profiler/raw-headers.ts';
import type { Figure, Presentation, Row, Section } from '../../profiler/rows.ts';
import { authorsText } from '../shared/header-authors.ts';
import { toCurl } from './curl.ts';
import type { RequestPanelData } from './data.ts';
import { toHttp } from './raw-http.ts';
import { absenceSentence } from './toolbar-absence.ts';
import { STATUS_CODES } from '../../node-http.ts';

/** Headers that differ between any two requests. */
const VARYING = new Set([
  'date', 'x-request-id', 'x-debug-token', 'x-debug-token-link', 'x-previous-debug-token', 'traceparent',
]); // prettier-ignore

function figuresOf(data: RequestPanelData, { status, route, process, trace }: Profile): Figure[] {
  const { client, body, response, jar, sessionAndUser } = data;
  return [
    {
      label: 'Status',
      value: status === null ? 'no response yet' : `${status} ${STATUS_CODES[status] ?? ''}`.trim(),
    },
    { label: 'Route', value: route },
    { label: 'Client', value: client.address },
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
    { label: 'Process', value: process },
  ];
}

function valueRows(rows: readonly { name: string; value: Row['text'] }[]): Row[] {
  return rows.map(({ name, value }) => ({ label: name, ...(value === undefined ? {} : { text: value }) }));
}

function headerRows(headers: readonly NamedValue[], response?: RequestPanelData['response']): Row[] {
  return headers.map(({ name, value }, index): Row => {
    const steps = response?.authors?.sent[index] ?? [];
    return {
      ...(response === undefined ? {} : { id: `rh-${index + 1}` }),
      label: name,
      text: value,
      note: steps.length === 0 ? null : authorsText(steps),
      place: steps.at(-1)?.place ?? null,
      ...(VARYING.has(name.toLowerCase()) ? { varies: true } : {}),
    };
  });
}

/** Status line, headers and the beginning of the body. */
function responseText({ httpVersion, response }: RequestPanelData): string {
  if (response === null) return '';
  const { status, statusMessage, headers, text } = response;
  const lines = headers.map(({ name, value }) => `${name}: ${value}`);
  return [
    `HTTP/${httpVersion} ${status ?? ''} ${statusMessage}`.trim(),
    ...lines,
    ...(text ? ['', text] : []),
  ].join('\n');
}

function responseNotes({ response }: RequestPanelData): string[] {
  if (response === null) return [];
  return [
    response.isErrorPage ? 'Its body is the profiler’s error page, which is not recorded.' : '',
    response.truncated ? 'Only the beginning of the body was recorded.' : '',
    absenceSentence(response.toolbarAbsent) ?? '',
  ].filter((sentence) => sentence !== '');
}

function httpSections(data: RequestPanelData): Section[] {
  const http = toHttp(data);
  const notes = responseNotes(data);
  return [
    {
      id: 'as-http',
      title: 'Request',
      ...(http.bodyLeftOut === null ? {} : { note: `without its body: ${http.bodyLeftOut}` }),
      rows: [{ block: { text: http.lines.join('\n'), language: 'http' } }],
    },
    {
      id: 'response-as-http',
      title: 'Response',
      ...(notes.length === 0 ? {} : { note: notes.join(' ') }),
      rows: data.response === null ? [] : [{ block: { text: responseText(data), language: 'http' } }],
    },
  ];
}

export function presentRequest(
  data: RequestPanelData,
  { profile }: Pick<PresentFrom, 'profile'>,
): Presentation {
  const { query, routeParams, headers, body, response, client, sessionAndUser } = data;
  const { status } = profile;
  return {
    card: {
      text: status === null ? 'no response yet' : `${status} ${profile.statusMessage}`.trim(),
      tone: status === null || status < 400 ? 'plain' : status < 500 ? 'warn' : 'bad',
    },
    figures: figuresOf(data, profile),
    sections: [
      ...httpSections(data),
      {
        id: 'request-headers',
        title: 'Request headers',
        values: 'request header',
        rows: headerRows(headers),
        inMarkdown: false,
      },
      {
        id: 'response-headers',
        title: 'Response headers',
        values: 'response header',
        columns: { label: 'Header', note: 'Set by', place: 'Defined at' },
        rows: headerRows(response?.headers ?? [], response),
        // The text above has the values; this adds who set each header.
        ...(response?.authors ? {} : { inMarkdown: false as const }),
      },
      {
        id: 'route-parameters',
        title: 'Route parameters',
        values: 'route parameter',
        rows: valueRows(routeParams),
      },
      { id: 'query', title: 'Query string', values: 'query', rows: valueRows(query) },
      { id: 'form', title: 'Form', rows: valueRows(body?.fields ?? []) },
      {
        id: 'files',
        title: 'Files',
        unit: 'bytes',
        columns: { label: 'Field', text: 'File' },
        rows: (body?.files ?? []).map(({ field, name, contentType, bytes }) => ({
          label: field,
          text: name,
          number: bytes,
          fields: [{ label: 'Type', value: contentType }],
        })),
      },
      {
        id: 'session-and-user',
        title: 'Session and user',
        rows: (['session', 'user'] as const).flatMap((name): Row[] => {
          const value = sessionAndUser?.[name];
          const late = name === 'session' ? sessionAndUser?.late : undefined;
          const note =
            late === undefined ? {} : { note: `changed after the headers were sent: ${late.join(', ')}` };
          return value === undefined ? [] : [{ label: name, text: value, ...note }];
        }),
      },
      {
        id: 'client',
        title: 'Client',
        rows: [
          { label: 'Address', text: client.address },
          { label: 'Peer', text: client.peer },
          ...(client.chain.length > 1 ? [{ label: 'Forwarded for', text: client.chain.join(', ') }] : []),
          { label: 'Origin', text: client.origin },
        ],
      },
      {
        id: 'as-curl',
        title: 'As a command',
        rows: [{ block: { text: toCurl(data).join('\n'), language: 'sh' } }],
      },
    ],
  };
}

export function noRequest(): EmptyState {
  return {
    what: 'Nothing was recorded for this request.',
    why: 'Its request line could not be read, or its profile could not be built.',
  };
}
