/** What the page shows besides the rows: tabs, formatted bodies, who set each header. */
import type { PanelPage } from '../../profiler/panel.ts';
import type { MaskedValue } from '../../profiler/redact.ts';
import type { NamedValue } from '../../profiler/raw-headers.ts';
import type { RequestPanelData } from './data.ts';
import { authorsText, type NamedStep } from '../shared/header-authors.ts';
import { addressOf } from '../../render/rows-page.ts';
import { toTest } from './as-test.ts';
import { leavesBodyOut, toCurl } from './curl.ts';
import { mediaTypeOf } from '../../profiler/http-text.ts';
import { toHttp } from './raw-http.ts';
import { absenceSentence } from './toolbar-absence.ts';

/** A formatted body; what is left out is counted. */
export interface ShownBody {
  kind: 'json' | 'form' | 'text';
  /** Of a form. */
  rows: NamedValue[];
  /** Pretty-printed if it is JSON. */
  text: string;
  /** Characters left out. */
  truncated: number;
}

/** Characters of a body, unless the page is requested with whole bodies. */
const SHOWN = 4000;

function cutAt(text: string, limit: number): { text: string; truncated: number } {
  if (text.length <= limit) return { text, truncated: 0 };
  const line = text.lastIndexOf('\n', limit);
  const end = line > limit / 2 ? line : limit;
  return { text: text.slice(0, end), truncated: text.length - end };
}

function prettyJson(text: string): string | null {
  try {
    return JSON.stringify(JSON.parse(text) as unknown, null, 2);
  } catch {
    return null;
  }
}

function isJson(type: string): boolean {
  return type === 'application/json' || type.endsWith('+json');
}

function showText(text: string | null, contentType: string | null, limit: number): ShownBody | null {
  if (text === null || text === '') return null;
  const type = mediaTypeOf(contentType);
  if (type === 'application/x-www-form-urlencoded') {
    const rows = Array.from(new URLSearchParams(text), ([name, value]) => ({ name, value }));
    return { kind: 'form', rows, text, truncated: 0 };
  }
  const pretty = isJson(type) ? prettyJson(text) : null;
  return { kind: pretty === null ? 'text' : 'json', rows: [], ...cutAt(pretty ?? text, limit) };
}

function showReceived({ body }: RequestPanelData, limit: number): ShownBody | null {
  if (body === null) return null;
  const { parsed, fields, text, contentType } = body;
  if (parsed !== undefined) {
    const written = typeof parsed === 'string' ? parsed : JSON.stringify(parsed, null, 2);
    return { kind: typeof parsed === 'string' ? 'text' : 'json', rows: [], ...cutAt(written, limit) };
  }
  const shown = fields === null ? showText(text, contentType, limit) : null;
  return shown?.kind === 'text' ? null : shown;
}

function placeOf(steps: readonly NamedStep[]): string | null {
  return steps.at(-1)?.place ?? null;
}

function headerRows(response: RequestPanelData['response']) {
  return (response?.headers ?? []).map(({ name, value }, index) => {
    const steps = response?.authors?.sent[index] ?? [];
    return {
      name,
      value,
      id: `rh-${index + 1}`,
      /** `helmetMiddleware, changed by showOrder`; null if unknown. */
      by: steps.length === 0 ? null : authorsText(steps),
      /** Where its last author was registered. */
      place: placeOf(steps),
    };
  });
}

function tabsOf(
  data: RequestPanelData,
  masked: readonly MaskedValue[],
  { cookies, hasTest }: { cookies: number; hasTest: boolean },
) {
  const tab = (id: string, title: string, count: number | null = null) => ({ id, title, count });
  return [
    tab('request', 'Request'),
    tab('body', 'Body'),
    tab('response', 'Response'),
    tab('cookies', 'Cookies', cookies),
    ...(data.sessionAndUser === null ? [] : [tab('session', 'Session')]),
    tab('client', 'Client'),
    tab('masked', 'Masked', masked.length),
    tab('curl-h', 'cURL'),
    ...(hasTest ? [tab('test-h', 'Test')] : []),
    tab('http-h', 'HTTP'),
  ];
}

export function drawRequest(data: RequestPanelData, { profile, query }: PanelPage) {
  const whole = query.whole === '1';
  const limit = whole ? Infinity : SHOWN;
  const headers = headerRows(data.response);
  const setCookies = headers.filter(({ name }) => name.toLowerCase() === 'set-cookie');
  const received = showReceived(data, limit);
  const text = data.body?.text ?? null;
  const raw = text === null || text === '' ? null : cutAt(text, limit);
  const answered = showText(data.response?.text ?? null, data.response?.contentType ?? null, limit);
  const test = toTest(data, profile);
  const isTruncated = [received, raw, answered].some((body) => body !== null && body.truncated > 0);
  return {
    tabs: tabsOf(data, profile.masked, {
      cookies: data.jar.length + setCookies.length,
      hasTest: test.length > 0,
    }),
    curl: toCurl(data),
    /** A test that fails while the fault is there; empty if there is none. */
    test,
    bodyLeftOut: leavesBodyOut(data),
    http: toHttp(data),
    /** The request body as parsed, or by its type; null if it is shown as sent. */
    received,
    /** As it was sent. */
    raw,
    answered,
    headers,
    removed: (data.response?.authors?.removed ?? []).map(({ name, steps }) => ({
      name,
      by: authorsText(steps),
    })),
    setCookies,
    /** Why the page got no toolbar; null if it got one, or is not a page. */
    toolbarAbsence: absenceSentence(data.response?.toolbarAbsent ?? null),
    masked: profile.masked,
    /** The page with whole bodies; null if nothing is truncated, or this is it. */
    wholeAddress: isTruncated ? addressOf('request', { whole: 1 }) : null,
  };
}
