/** Rows -> the preview of a panel in the toolbar: figures, and the most important rows. */
import type { Presentation, Row, Section, Tone } from '../profiler/read/rows.ts';
import { amountText, noteOf, valueText } from '../view-helpers/amount.ts';

export interface CardRow {
  text: string;
  note: string;
  tone: Tone;
  row: string | undefined;
}

export interface Card {
  text?: string;
  tone?: Tone;
  facts: [label: string, value: string][];
  rows: CardRow[];
  more: number;
  parts: readonly { kind: string; label: string; ms: number }[];
}

const MOST_ROWS = 5;
const WEIGHTS: Readonly<Record<Tone, number>> = { bad: 2, warn: 1, plain: 0 };

function cardRow(
  { id, label, text, number, times = 1, tone = 'plain', badges = [], note, place }: Row,
  { unit = 'ms' }: Section,
): CardRow {
  const said = [times > 1 ? `${times} ×` : '', label ?? '', text === undefined ? '' : valueText(text)];
  const amount = number === undefined || number === null || unit === 'at' ? null : amountText(number, unit);
  return {
    text: said.filter((part) => part !== '').join(' '),
    note: noteOf([...badges, amount, note, place]),
    tone,
    row: id,
  };
}

function compareRows(a: { row: Row; section: Section }, b: { row: Row; section: Section }): number {
  const byTone = WEIGHTS[b.row.tone ?? 'plain'] - WEIGHTS[a.row.tone ?? 'plain'];
  if (byTone !== 0 || a.section.card === 'in order' || b.section.card === 'in order') return byTone;
  return (b.row.number ?? 0) - (a.row.number ?? 0);
}

export function rowsCard({ figures = [], sections, card = {} }: Presentation): Card {
  const rows = sections
    .filter((section) => section.card !== undefined)
    .flatMap((section) => section.rows.map((row) => ({ row, section })))
    .filter(({ row }) => row.within === undefined)
    .sort(compareRows);
  return {
    ...(card.text === undefined ? {} : { text: card.text }),
    ...(card.tone === undefined ? {} : { tone: card.tone }),
    facts: figures
      .filter(({ value }) => value !== null)
      .map(({ label, value, unit, note }) => {
        const amount = valueText(value, unit);
        return [label, note === undefined ? amount : `${amount} (${note})`];
      }),
    rows: rows.slice(0, MOST_ROWS).map(({ row, section }) => cardRow(row, section)),
    more: Math.max(0, rows.length - MOST_ROWS),
    parts: card.parts ?? [],
  };
}
