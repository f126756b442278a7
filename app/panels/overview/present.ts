/** The overview as rows, for Markdown and for agents. */
import type { PresentFrom } from '../../profiler/panel.ts';
import type { Field, Presentation, Row, Section } from '../../profiler/rows.ts';
import { valueText } from '../../view-helpers/amount.ts';
import { historyHelpers } from '../../view-helpers/history.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { findingsOf, noneFound } from './draw.ts';
import { receivedOf, sentOf } from './exchange.ts';
import { type Measure, type Usual, usualOf } from './usual.ts';
import { WHY_SUMMARY } from '../../profiler/recording-limit.ts';
import { type SummaryFacts, summarySections } from './summary.ts';
import { type Work, type WorkRow, workOf } from './work.ts';
import type { Json } from '../../profiler/json.ts';
import { outsideNote, shareRow, timelineOf } from '../shared/timeline-data.ts';

const { historyText } = historyHelpers;

function workRow(row: WorkRow): Row {
  const { level, label, durationMs, startMs, badges, depth, after, outside } = row;
  return {
    text: level === null ? label : `${level}: ${label}`,
    number: durationMs,
    depth,
    badges: badges.map((badge) => badge.label),
    note: after ? 'after the response' : outside ? 'outside of the request’s time' : null,
    fields: [{ label: 'Start', value: startMs, unit: 'at' }],
  };
}

function workSections(work: Work | null): Section[] {
  if (work === null) return [];
  const columns = { text: 'What', number: 'Duration' };
  return [
    { id: 'worst', title: 'Failed and slow', columns, rows: work.worst.map(workRow) },
    {
      id: 'ran',
      title: work.worst.length > 0 ? 'The rest, in order' : 'As it ran',
      columns,
      rows: work.rest.map(workRow),
      left: work.left.rows + work.left.lines,
    },
  ];
}

/** As text, because each row has a unit of its own. */
function measureRow({ label, unit, value, p50, p95, tone }: Measure): Row {
  const fields: Field[] = [
    { label: 'This one', value: valueText(value, unit) },
    { label: 'Median', value: valueText(p50, unit) },
    { label: 'p95', value: valueText(p95, unit) },
  ];
  return { label, tone, fields };
}

function usualSections(usual: Usual | null): Section[] {
  if (usual === null) return [];
  const { count, compared, measures, differences } = usual;
  return [
    {
      id: 'usual',
      title: 'How this route usually is',
      note: `last ${numberHelpers.count(count, 'request')}`,
      columns: { label: 'What' },
      rows: measures.map(measureRow),
    },
    {
      id: 'differs',
      title: 'What differs this time',
      note: `compared with the last ${numberHelpers.count(compared)}`,
      rows: differences.map(({ text }) => ({ text })),
      none: 'Nothing that was looked at: status, parameters, process, findings.',
    },
  ];
}

export function presentOverview(from: PresentFrom, summary?: SummaryFacts): Presentation {
  const { profile, beside } = from;
  if (summary !== undefined && profile.summary !== null)
    return { lead: [WHY_SUMMARY[profile.summary]], sections: summarySections(profile, summary) };
  const findings = findingsOf(from);
  const timeline = timelineOf(profile);
  const received = receivedOf(profile);
  const sent = sentOf(profile);
  const preview = sent?.preview ?? null;
  return {
    sections: [
      {
        id: 'wrong',
        title: 'What is wrong',
        columns: { label: 'Finding', text: 'What', note: 'How to fix it' },
        rows: findings.map(({ label, severity, sentence, place, fix, history }): Row => ({
          label,
          text: sentence,
          tone: severity === 'info' ? 'plain' : severity,
          place: place ?? null,
          note: fix,
          ...(history === undefined
            ? {}
            : { fields: [{ label: 'History', value: historyText(label, history) }] }),
        })),
        none: noneFound(from),
      },
      {
        id: 'shares',
        title: 'What took the time',
        columns: { text: 'What' },
        ...(timeline === null ? {} : outsideNote(timeline)),
        rows: timeline === null ? [] : timeline.shares.map((share) => shareRow(share, timeline.totalMs)),
      },
      ...workSections(workOf(profile, findings, false)),
      ...usualSections(usualOf(profile, beside)),
      {
        id: 'received',
        title: 'Received',
        rows: (received?.pairs ?? []).map(({ name, value, say }): Row => ({
          label: name,
          text: value as Json,
          note: say,
        })),
        left: received?.left ?? 0,
      },
      {
        id: 'sent',
        title: 'Sent back',
        ...(sent === null
          ? {}
          : {
              note: `${sent.status}, ${sent.contentType ?? 'no type'}, ${numberHelpers.bytesText(sent.bytes)}`,
            }),
        rows: preview === null ? [] : [{ block: { text: preview } }],
      },
    ],
  };
}
