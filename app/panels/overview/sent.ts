/** The response: its status and sender, the headers that decide about caching and cookies, the shape of the body. */
import type { Profile } from '../../profiler/profile.ts';
import type { Block } from '../../profiler/rows.ts';
import { noteOf } from '../../view-helpers/amount.ts';
import { numberHelpers, bytesText } from '../../view-helpers/numbers.ts';
import type { ComparedValue } from '../shared/compare-values.ts';
import { isPage, pageText } from '../shared/page-text.ts';
import { parseBeginning } from '../shared/json-leaves.ts';
import { dataOf } from '../shared/panel-data.ts';
import type { Response } from '../request/data.ts';
import { answeredText, type Ran } from './ran.ts';
import { STATUS_CODES } from '../../node-http.ts';
import { lineOf, receivedAs, type Step } from './step.ts';
import { valueLine } from '../../view-helpers/value-line.ts';

const LONGEST = 700;
const LONGEST_PAGE = 400;
const PREVIEW_LINES = 6;
const PREVIEW_LENGTH = 600;
const SEVERAL = 3;
const DECIDING =
  /^(?:cache-control|set-cookie|location|vary|etag|content-encoding|content-disposition|www-authenticate|retry-after|allow|refresh|access-control-allow-origin|access-control-allow-credentials|x-accel-.*)$/i;

function headersStep({ headers, authors }: Response): Step {
  const deciding = headers.flatMap(({ name, value }, at) =>
    DECIDING.test(name) ? [{ name, value, at }] : [],
  );
  const counts = new Map<string, number>();
  for (const steps of authors?.sent ?? []) {
    const by = steps.at(-1)?.by;
    if (by !== undefined) counts.set(by, (counts.get(by) ?? 0) + 1);
  }
  const [most] = [...counts].filter(([, count]) => count >= SEVERAL).sort((a, b) => b[1] - a[1]);
  const others = headers.length - deciding.length;
  const has = (name: string): boolean => deciding.some((header) => header.name.toLowerCase() === name);
  const last = deciding.flatMap(({ at }) => authors?.sent[at]?.at(-1)?.place ?? []).at(-1) ?? null;
  return {
    label: 'headers',
    text: deciding.map(({ name, value }) => `${name.toLowerCase()}: ${value.slice(0, 160)}`).join(' · '),
    note: noteOf([
      has('cache-control') ? null : 'no cache-control',
      has('set-cookie') ? null : 'no cookie set',
      others === 0
        ? null
        : `${numberHelpers.count(others, 'other')}${most === undefined ? '' : `, ${numberHelpers.count(most[1])} of them by ${most[0].slice(0, 60)}`}`,
    ]),
    place: last,
    href: '?panel=request#response',
  };
}

function previewOf(text: string): Block {
  const lines = text
    .replace(/^\s*\n/gm, '')
    .split('\n')
    .slice(0, PREVIEW_LINES)
    .join('\n');
  return { text: lines.slice(0, PREVIEW_LENGTH).toWellFormed() };
}

function bodyStep(response: Response, compared: readonly ComparedValue[]): Step[] {
  const { text, bytes, contentType, truncated, isErrorPage } = response;
  const common = { label: 'body', href: '?panel=request#response' };
  if (isErrorPage) return [{ ...common, note: 'Hindsight’s error page' }];
  if (bytes === 0) return [];
  if (text === null || text === '') return [{ ...common, note: 'not recorded as text' }];
  const json =
    /\bjson\b/i.test(contentType ?? '') || /^\s*[[{]/.test(text) ? parseBeginning(text) : undefined;
  if (json === undefined && isPage(text))
    return [
      {
        ...common,
        text: pageText(text, LONGEST_PAGE).toWellFormed(),
        note: noteOf(['text of the page', truncated ? 'the beginning' : null]),
      },
    ];
  if (json === undefined)
    return [{ ...common, block: previewOf(text), note: truncated ? 'the beginning' : null }];
  const changed = compared.filter(({ sent }) => sent.some(({ change }) => change !== null));
  const marked = new Set(
    changed.flatMap(({ sent }) => sent.flatMap(({ field, change }) => (change === null ? [] : [field]))),
  );
  return [
    {
      ...common,
      ...lineOf(valueLine(json.value, { longest: LONGEST, isTyped: true, marked })),
      note: json.isWhole ? null : 'the beginning',
      fields: receivedAs(changed),
    },
  ];
}

/** It is saved when the headers are sent: a login has set its user by then. */
function sessionStep(profile: Profile, headersAtMs: number | null): Step[] {
  const { session, renewed } = dataOf(profile, 'request')?.sessionAndUser ?? {};
  if (session === undefined || session === null) return [];
  return [
    {
      label: 'session',
      ...lineOf(valueLine(session, { longest: LONGEST_PAGE })),
      note: noteOf(['after the handler', renewed === true ? 'with a new id' : null]),
      number: headersAtMs,
      href: '?panel=request',
    },
  ];
}

export function sentSteps(
  profile: Profile,
  { ran: { answered }, compared }: { ran: Ran; compared: readonly ComparedValue[] },
): Step[] {
  const response = dataOf(profile, 'request')?.response ?? null;
  const { status } = profile;
  if (response === null || status === null) return [];
  const { contentType, bytes, headersAtMs } = response;
  return [
    {
      label: 'status',
      text: `${status} ${profile.statusMessage || (STATUS_CODES[status] ?? '')}`.trim(),
      note: noteOf([
        contentType?.replace(/;.*$/s, '').slice(0, 80) ?? 'no content type',
        bytesText(bytes),
        answered === null ? null : `by ${answeredText(answered)}`,
      ]),
      tone: status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'plain',
      number: headersAtMs,
      place: response.sentFrom ?? answered?.place ?? null,
      href: '?panel=request#response',
    },
    headersStep(response),
    ...sessionStep(profile, headersAtMs),
    ...bodyStep(response, compared),
  ];
}
