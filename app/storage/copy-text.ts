/** Rows in the text form of PostgreSQL's COPY: columns parted by tabs, `\N` for null, backslash before what has a meaning. */
import type { ColumnValue } from './rows.ts';

const ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escaped(text: string): string {
  const doubled = text.includes('\\') ? text.replaceAll('\\', '\\\\') : text;
  return /[\n\r\t]/.test(doubled) ? doubled.replace(/[\n\r\t]/g, (found) => ESCAPES[found] ?? '') : doubled;
}

function fieldOf(value: ColumnValue): string {
  if (value === null) return '\\N';
  return typeof value === 'number' ? String(value) : escaped(value);
}

export function copyText(rows: readonly (readonly ColumnValue[])[]): Buffer {
  let text = '';
  for (const row of rows) {
    for (let i = 0; i < row.length; i++) text += (i === 0 ? '' : '\t') + fieldOf(row[i] ?? null);
    text += '\n';
  }
  return Buffer.from(text);
}
