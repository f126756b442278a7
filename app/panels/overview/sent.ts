/** The response: its status and sender, the headers that decide about caching and cookies, the shape of the body. */
import type { Profile } from '../../profiler/profile.ts';
import type { Row } from '../../profiler/read/rows.ts';
import { noteOf } from '../../view-helpers/amount.ts';
import { bytesText, count } from '../../view-helpers/numbers.ts';
import type { ComparedValue } from '../shared/compare-values.ts';
import { isPage, pageText } from '../shared/page-text.ts';
import { parseBeginning } from '../shared/json-leaves.ts';
import { dataOf } from '../shared/panel-data.ts';
import type { Response } from '../request/data.ts';
import { answeredText, type Ran, senderOf } from './ran.ts';
import { STATUS_CODES } from '../../node-http.ts';
import { lineOf, receivedAs, type Step } from './step.ts';
import { valueLine } from '../../view-helpers/value-line.ts';

const LONGEST = 700;
const LONGEST_PAGE = 400;
const PREVIEW_LINES = 6;
const PREVIEW_LENGTH = 600;
const LONGEST_LAST = 200;
const DECIDING =
  /^(?:cache-control|set-cookie|location|vary|link|content-(?:encoding|disposition|language|range|location)|www-authenticate|retry-after|allow|refresh|x-total(?:-count)?|access-control-allow-(?:origin|credentials)|x-accel-.*)$/i;
/** Sent by itself, and compared only with these. */
const CONDITION = /^if-(?:none-)?match$/i;

function headersStep({ headers, authors }: Response, asked: readonly { name: string }[]): Step[] {
  const isConditional = asked.some(({ name }) => CONDITION.test(name));
  const deciding = headers.flatMap(({ name, value }, at) =>
    DECIDING.test(name) || (isConditional && /^etag$/i.test(name)) ? [{ name, value, at }] : [],
  );
  if (deciding.length === 0) return [];
  const others = headers.length - deciding.length;
  return [
    {
      label: 'headers',
      text: deciding.map(({ name, value }) => `${name.toLowerCase()}: ${value.slice(0, 160)}`).join(' · '),
      note: others === 0 ? null : count(others, 'other'),
      place: deciding.flatMap(({ at }) => authors?.sent[at]?.at(-1)?.place ?? []).at(-1) ?? null,
      href: '?panel=request#response',
    },
  ];
}

/** The first lines and the last one, which often says how it ended. */
function previewOf(text: string, truncated: boolean): Pick<Row, 'block' | 'note'> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const isShort = lines.length <= PREVIEW_LINES + 1;
  const first = lines.slice(0, isShort ? undefined : PREVIEW_LINES).join('\n');
  const shown = first.slice(0, PREVIEW_LENGTH).toWellFormed();
  if (truncated || isShort) return { block: { text: shown }, note: truncated ? 'only its beginning' : null };
  const left = count(lines.length - PREVIEW_LINES - 1, 'more line');
  const last = (lines.at(-1) ?? '').slice(0, LONGEST_LAST).toWellFormed();
  return { block: { text: `${shown}\n… ${left}\n${last}` }, note: count(lines.length, 'line') };
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
        note: noteOf(['text of the page', truncated ? 'only its beginning' : null]),
      },
    ];
  if (json === undefined) return [{ ...common, ...previewOf(text, truncated) }];
  const changed = compared.filter(({ sent }) =>
    sent.some(({ change }) => change === 'value' || change === 'type'),
  );
  const marked = new Set(
    changed.flatMap(({ sent }) => sent.flatMap(({ field, change }) => (change === null ? [] : [field]))),
  );
  return [
    {
      ...common,
      ...lineOf(
        valueLine(json.value, { longest: LONGEST, isShape: true, isBeginning: !json.isWhole, marked }),
      ),
      note: json.isWhole ? null : 'only its beginning',
      fields: receivedAs(changed),
    },
  ];
}

/** It is saved when the headers are sent: a login has set its user by then. */
function sessionStep(profile: Profile, headersAtMs: number | null, isAsRead: boolean): Step[] {
  const { session, former } = dataOf(profile, 'request')?.sessionAndUser ?? {};
  if (session === undefined || session === null || isAsRead) return [];
  return [
    {
      label: 'session',
      ...lineOf(valueLine(session, { longest: LONGEST_PAGE })),
      note: noteOf(['after the handler', former === undefined ? null : 'with a new id']),
      number: headersAtMs,
      href: '?panel=request',
    },
  ];
}

export function sentSteps(
  profile: Profile,
  { ran, compared, isAsRead }: { ran: Ran; compared: readonly ComparedValue[]; isAsRead: boolean },
): Step[] {
  const { response = null, headers = [] } = dataOf(profile, 'request') ?? {};
  const { status } = profile;
  if (response === null || status === null) return [];
  const { contentType, bytes, headersAtMs } = response;
  const { answered } = ran;
  const place = senderOf(profile, ran);
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
      place,
      href: '?panel=request#response',
    },
    // Its line is said above.
    ...headersStep(response, headers).map((step) => (step.place === place ? { ...step, place: null } : step)),
    ...sessionStep(profile, headersAtMs, isAsRead),
    ...bodyStep(response, compared),
  ];
}
