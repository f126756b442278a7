/** The sentence for a request without findings: the checks that ran, and doubts. */
import { errorText } from '../../profiler/error-text.ts';
import { isWork } from '../../profiler/record/context.ts';
import type { PresentFrom } from '../../profiler/panel.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { Row } from '../../profiler/read/rows.ts';
import { bytesText, count } from '../../view-helpers/numbers.ts';
import type { ComparedValue } from '../shared/compare-values.ts';
import { queryNumbers } from '../shared/query-numbers.ts';
import { isRead } from '../shared/statements.ts';
import { thrownAt } from '../shared/kept-panels.ts';
import { dataOf } from '../shared/panel-data.ts';
import type { Response } from '../request/data.ts';
import { answeredText, type Ran, senderOf } from './ran.ts';
import { lineOf, valueText } from './step.ts';
import { textOf, valueLine } from '../../view-helpers/value-line.ts';
import { parseBeginning } from '../shared/json-leaves.ts';
import { isPage, pageText } from '../shared/page-text.ts';

export interface Verdict {
  text: string;
  checked: readonly string[];
}

const LONGEST_BODY = 300;

/** Why the absence of findings says little about this request. */
function doubts(
  { profile, beside }: Pick<PresentFrom, 'profile' | 'beside'>,
  unusual: string | null,
): string[] {
  const { kind, status, state, outcome, dropped } = profile;
  const notKept = Object.values(dropped).reduce((sum, one) => sum + one, 0);
  const failed = (beside?.started ?? []).filter(({ isFailed }) => isFailed).length;
  return [
    state === 'running' ? 'It is still running.' : '',
    state !== 'running' && status === null && !isWork(kind) ? 'No response was sent.' : '',
    outcome === 'aborted' ? 'The connection closed before the end.' : '',
    failed > 0
      ? `${failed === 1 ? 'Work that this request started failed' : `${count(failed)} tasks that this request started failed`}.`
      : '',
    unusual ?? '',
    notKept > 0 ? `${count(notKept, 'fact')} ${notKept === 1 ? 'was' : 'were'} not stored.` : '',
  ].filter((text) => text !== '');
}

export function verdictOf(
  { profile, beside }: Pick<PresentFrom, 'profile' | 'beside'>,
  { changes, broken, unusual }: { changes: number; broken: number; unusual: string | null },
): Verdict {
  const { kind, summary } = profile;
  const checked = beside?.checked ?? [];
  const unchecked = (text: string): Verdict => ({ text, checked: [] });
  if (kind === 'profiler' || kind === 'error_page')
    return unchecked('The profiler’s own pages are not checked.');
  if (summary !== null) return unchecked('Only a summary was recorded, so no rule checked this request.');
  const reasons = doubts({ profile, beside }, unusual);
  const limits =
    reasons.length + changes + broken + Number(checked.length === 0) > 0
      ? []
      : ['The checks can’t tell whether the values below are right.'];
  // What an earlier one has stands right above.
  const none = broken > 0 ? 'No finding in this request itself.' : 'No finding.';
  return { text: [...reasons, none, ...limits].join(' '), checked };
}

function bodyText({ text, bytes }: Response): string {
  if (text === null || text === '') return bytes === 0 ? 'without a body' : bytesText(bytes);
  const json = parseBeginning(text);
  return json === undefined
    ? (isPage(text) ? pageText(text, LONGEST_BODY) : text.slice(0, LONGEST_BODY)).toWellFormed()
    : textOf(valueLine(json.value, { longest: LONGEST_BODY }));
}

/** A handler that responded, and then passed its error on, as those of routing-controllers do, neither waits nor has called `next()`. */
function sentBeforeError(profile: Profile): string | undefined {
  const errors = dataOf(profile, 'exception')?.errors ?? [];
  return errors.find(({ late, origin }) => late || origin === 'late')?.from?.name;
}

function whoSent(profile: Profile, { answered }: Ran): string {
  const { route } = profile;
  if (answered !== null) return `sent by ${answeredText(answered)}`;
  const failedLater = sentBeforeError(profile);
  if (failedLater !== undefined) return `sent by ${failedLater}, before its error`;
  return route === null ? 'no route matched' : 'no middleware responded';
}

function foundNothing(profile: Profile, headersAtMs: number | null): string | null {
  const { queries = [], statements = [] } = dataOf(profile, 'database') ?? {};
  const numbers = queryNumbers({ queries, statements });
  const asked = [
    ...queries.flatMap(({ statement, startMs, rows, error }, at) => {
      const { sql = '' } = statements[statement] ?? {};
      const nothing = `query ${numbers[at]} ${isRead(sql) ? 'found' : 'changed'} no row`;
      return numbers[at] === null ? [] : [{ startMs, text: rows === 0 && error === null ? nothing : null }];
    }),
    ...(dataOf(profile, 'cache')?.items ?? []).flatMap(({ startMs, command, key, asked: keys, hits }) =>
      keys === 0
        ? []
        : [{ startMs, text: hits === 0 ? `${command} ${(key ?? '').slice(0, 60)} found nothing` : null }],
    ),
  ].filter(({ startMs }) => startMs <= (headersAtMs ?? Infinity));
  return asked.toSorted((a, b) => a.startMs - b.startMs).at(-1)?.text ?? null;
}

function isHandled(profile: Profile): boolean {
  return (
    dataOf(profile, 'exception')?.errors.some(
      ({ origin, late }) => (origin === 'handled' || origin === 'passed on') && !late,
    ) ?? false
  );
}

/** A refusal begins with an error that led to it, and who sent it, and the body that it sent; Hindsight's own error page with what was thrown. */
export function answeredRow({ profile }: Pick<PresentFrom, 'profile'>, ran: Ran): Row[] {
  const { status, findings, error } = profile;
  const response = dataOf(profile, 'request')?.response;
  if (status === null || status < 400 || findings.some(({ broke }) => broke === 'response')) return [];
  const common = { label: `${status}`, tone: status >= 500 ? ('bad' as const) : ('warn' as const) };
  const thrown =
    error === null ? null : errorText(error).replace(/\s+/g, ' ').slice(0, LONGEST_BODY).toWellFormed();
  if (response?.isErrorPage === true && thrown !== null)
    return [{ ...common, text: thrown, note: 'shown by Hindsight’s error page', place: thrownAt(profile) }];
  const nothing = foundNothing(profile, response?.headersAtMs ?? null);
  return [
    ...(thrown === null || !isHandled(profile)
      ? []
      : [{ label: 'thrown', text: thrown, place: thrownAt(profile) }]),
    {
      ...common,
      text: response === undefined || response === null ? 'without a body' : bodyText(response),
      note: nothing === null ? whoSent(profile, ran) : `${whoSent(profile, ran)}; ${nothing}`,
      place: senderOf(profile, ran),
    },
  ];
}

/** Why it was refused, as the source says it. */
export function comparedRow({ profile, beside }: Pick<PresentFrom, 'profile' | 'beside'>): Row[] {
  const text = beside?.comparedAsText ?? null;
  if (text === null) return [];
  const place = dataOf(profile, 'request')?.response?.sentFrom ?? null;
  return [
    {
      label: 'compared as text',
      text,
      note: 'two numbers as texts: by number, it is false',
      tone: 'warn',
      place,
    },
  ];
}

/** Values that changed between the places, unless a finding names them. */
export function changedRows(
  { profile }: Pick<PresentFrom, 'profile'>,
  changed: readonly ComparedValue[],
): Row[] {
  return changed.flatMap(({ name, received, bound, sent, places, change }): Row[] => {
    if (change !== 'value' || profile.findings.some(({ sentence }) => sentence.includes(name))) return [];
    const to = [
      ...bound.map((at) => ({ ...at, verb: 'bound as' })),
      ...sent.map((at) => ({ ...at, verb: 'sent as' })),
    ];
    const first = (verb: string): string => {
      const at = to.find((one) => one.verb === verb && one.change !== null);
      return at === undefined ? '' : `, ${verb} ${at.isMasked ? 'another value' : valueText(at.value)}`;
    };
    const as = received.isMasked ? 'masked' : valueText(received.value);
    return [
      {
        label: 'changed value',
        ...lineOf([
          ['k', name],
          ['', ` received as ${as}${first('bound as')}${first('sent as')}`],
        ]),
        note: `from the ${received.field.replace(/ .*/, '')}`,
        place: places[0] ?? null,
      },
    ];
  });
}
