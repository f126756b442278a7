/** The rail beside a request: profiles that it started, differences from its route and since the last one like it, requests that ran at the same time. */
import type { PresentFrom } from '../../profiler/panel.ts';
import { pathOf } from '../../profiler/request-target.ts';
import type { Row, Section } from '../../profiler/read/rows.ts';
import { noteOf } from '../../view-helpers/amount.ts';
import { count, durationText } from '../../view-helpers/numbers.ts';
import { type Overlap, overlapsOf } from '../shared/overlap.ts';
import type { Difference, Differences } from './differences.ts';
import { sinceRows } from './since.ts';
import type { BesideRow } from './step.ts';
import { ownRequest } from '../shared/own-request.ts';

const MOST_OVERLAPS = 4;

function differenceRow(what: string): (difference: Difference) => Row {
  return ({ kind, text, note, place }) => ({ label: what, text, note: `${kind}; ${note}`, place });
}

/** A field, a header or a parameter: nothing that runs. */
function isPart({ kind }: Difference): boolean {
  return /field|header|parameter/.test(kind);
}

function differenceRows({ missing, only, stays, spared }: Differences): Row[] {
  return [
    ...missing.map((one) => differenceRow(isPart(one) ? 'Missing here' : 'Did not run here')(one)),
    ...spared.map(differenceRow('Did not run here')),
    ...only.map(differenceRow('Only here')),
    ...stays.map(differenceRow('Stays the same')),
  ];
}

function overlapRow({ head, startMs, shared }: Overlap): BesideRow {
  const { token, method, url, status, durationMs } = head;
  const first = shared.slice(0, 2);
  return {
    token,
    label: `${method} ${pathOf(url)}`.slice(0, 200),
    note: noteOf([
      status === null ? null : String(status),
      `began ${durationText(Math.abs(startMs))} ${startMs < 0 ? 'before' : 'after'} this one began`,
      durationMs === null ? 'still running' : `ran ${durationText(durationMs)}`,
    ]),
    text: first.map(({ name, order }) => `${name}: ${order}`).join('; '),
    tone: shared.some(({ race }) => race !== null) ? 'bad' : 'plain',
    place: first[0]?.race?.place ?? null,
    fields: [{ label: 'Token', value: token }],
  };
}

export function besideSections(
  { profile, beside }: Pick<PresentFrom, 'profile' | 'beside'>,
  differences: Differences | null,
): Section[] {
  const overlaps =
    beside === undefined || beside.overlapping.length === 0
      ? []
      : overlapsOf(ownRequest(profile), beside.overlapping);
  const touching = overlaps.filter(({ shared }) => shared.length > 0);
  // Without a finding, one of them may be why.
  const isOpen = touching.length === 0 && profile.findings.length === 0;
  const shown = isOpen ? overlaps : touching;
  const sections: Section[] = [
    {
      id: 'started',
      title: 'Started by this request',
      columns: { label: 'What', badges: 'Outcome', text: 'Error', number: 'Took' },
      rows: (beside?.started ?? []).map(
        ({ token, what, outcome, isFailed, startMs, durationMs, error, place, ran }): BesideRow => ({
          token,
          label: what,
          badges: [outcome],
          tone: isFailed ? 'bad' : 'plain',
          ...(error === null ? {} : { text: error }),
          number: durationMs,
          note: noteOf([`began ${durationText(Math.max(0, startMs))} after the request`, ran]),
          place,
          fields: [{ label: 'Token', value: token }],
        }),
      ),
    },
    {
      id: 'differs-here',
      title:
        differences?.count === 0 ? 'Differs from similar routes' : 'Differs from this route’s other requests',
      ...((differences?.count ?? 0) === 0
        ? {}
        : { note: `compared with ${count(differences?.count ?? 0, 'full record')}` }),
      columns: { label: 'How', text: 'What' },
      rows: differences === null ? [] : differenceRows(differences),
    },
    {
      id: 'since',
      title: 'Since the last request like this',
      columns: { label: 'What', text: 'Change' },
      rows: beside === undefined ? [] : sinceRows(beside),
    },
    {
      id: 'beside',
      title: 'Ran at the same time',
      ...(overlaps.length === 0
        ? {}
        : { note: `${count(touching.length)} of ${count(overlaps.length, 'request')} touched the same` }),
      columns: { label: 'Request', text: 'Both touched' },
      rows: shown.slice(0, MOST_OVERLAPS).map(overlapRow),
      left: Math.max(0, shown.length - MOST_OVERLAPS),
    },
  ];
  return sections.filter(({ rows }) => rows.length > 0);
}
