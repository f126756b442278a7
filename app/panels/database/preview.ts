/** What the toolbar shows of the queries: loops first, then what failed, then the slowest. */
import type { PanelPreview, PreviewRow } from '../../profiler/panel.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import type { DatabaseData } from './index.ts';
import { firstRows, noteOf } from '../shared/preview.ts';
import { isControl } from '../shared/statements.ts';

const { count, durationText } = numberHelpers;
const KINDS = {
  'n+1': { says: 'N+1', tone: 'bad', weight: 3 },
  loop: { says: 'writes in a loop', tone: 'warn', weight: 1 },
  duplicate: { says: 'the same again', tone: 'plain', weight: 0 },
} as const;

interface Candidate {
  weight: number;
  ms: number;
  row: PreviewRow;
}

function groupsOf({ groups, statements }: DatabaseData): Candidate[] {
  return groups.map(({ kind, statement, caller, members, durationMs }, index) => ({
    weight: KINDS[kind].weight,
    ms: durationMs,
    row: {
      text: `${count(members.length)} × ${statements[statement]?.label ?? ''}`,
      note: noteOf(KINDS[kind].says, durationText(durationMs), caller),
      tone: KINDS[kind].tone,
      row: `g${index + 1}`,
    },
  }));
}

function queriesOf({ queries, statements }: DatabaseData, slowMs: number): Candidate[] {
  return queries.flatMap(({ statement, durationMs, rows, error, caller, group }, index): Candidate[] => {
    const { sql = '', label = '' } = statements[statement] ?? {};
    if ((group !== null && error === null) || isControl(sql)) return [];
    const found = rows === null ? null : count(rows, 'row');
    return [
      {
        weight: error === null ? 0 : 2,
        ms: durationMs ?? 0,
        row: {
          text: label,
          note: noteOf(error === null ? null : 'failed', durationText(durationMs), found, caller),
          tone: error !== null ? 'bad' : (durationMs ?? 0) >= slowMs ? 'warn' : 'plain',
          row: `q${index + 1}`,
        },
      },
    ];
  });
}

export function previewDatabase(data: DatabaseData, slowMs: number): PanelPreview {
  const { totals } = data;
  const found = [...groupsOf(data), ...queriesOf(data, slowMs)].sort(
    (a, b) => b.weight - a.weight || b.ms - a.ms,
  );
  return {
    facts: [
      ['Queries', `${count(totals.queries)}, ${count(totals.statements, 'statement')}`],
      ['Time', durationText(totals.busyMs)],
      ...(totals.waitMs > 0 ? [['Waited for a connection', durationText(totals.waitMs)] as const] : []),
      ['Rows', count(totals.rows)],
      ...(totals.failed > 0 ? [['Failed', count(totals.failed)] as const] : []),
    ],
    ...firstRows(found, ({ row }) => row),
  };
}
