/** Frames of an error as the exception panel lists them: own ones separate, foreign ones folded, repeats counted. */
import { errorText } from '../profiler/error-text.ts';
import { truncateText } from '../profiler/record/plain.ts';
import type { Thrown, ThrownFrame, ThrownLink } from '../profiler/record/thrown.ts';

export type FrameRow =
  | { kind: 'own'; frame: ThrownFrame; times: number }
  | { kind: 'foreign'; title: string; frames: ThrownFrame[] }
  | { kind: 'note'; title: string };

function frameCount(count: number): string {
  return count === 1 ? '1 frame' : `${count} frames`;
}

function ownerOf({ kind, package: name, file }: ThrownFrame): string {
  if (kind !== 'vendor') return 'node';
  return name ?? (file?.startsWith('/') === false ? 'express-hindsight' : 'other folders');
}

function namesOf(frames: readonly ThrownFrame[]): string {
  const names = [...new Set(frames.map(ownerOf))];
  const shown = names.slice(0, 3);
  const rest = names.length - shown.length;
  const last = rest > 0 ? `${rest} ${rest === 1 ? 'other' : 'others'}` : (shown.pop() ?? '');
  return shown.length === 0 ? last : `${shown.join(', ')} and ${last}`;
}

function isSame(a: ThrownFrame | undefined, b: ThrownFrame | undefined): boolean {
  return (
    a !== undefined &&
    a.file === b?.file &&
    a.line === b.line &&
    a.column === b.column &&
    a.function === b.function
  );
}

function sharedEnd(frames: readonly ThrownFrame[], before: readonly ThrownFrame[]): number {
  let shared = 0;
  while (shared < frames.length - 1 && isSame(frames.at(-1 - shared), before.at(-1 - shared))) shared++;
  return shared < 2 ? 0 : shared;
}

function placeOf({ file, line, column }: ThrownFrame): string {
  if (file === null) return '';
  return [file, line, column].filter((part) => part !== null).join(':');
}

function frameLine(frame: ThrownFrame): string {
  const place = placeOf(frame) || 'native';
  const name = frame.function === null ? place : `${frame.function} (${place})`;
  return `    at ${frame.async ? 'async ' : ''}${name}`;
}

function groupFrames(frames: readonly ThrownFrame[], before: readonly ThrownFrame[] = []): FrameRow[] {
  const shared = sharedEnd(frames, before);
  const listed = frames.slice(0, frames.length - shared);
  const rows: FrameRow[] = [];
  for (const frame of listed) {
    if (frame.skipped !== undefined)
      rows.push({ kind: 'note', title: `${frameCount(frame.skipped)} left out` });
    const last = rows.at(-1);
    if (frame.kind === 'own') {
      if (frame.async && last !== undefined && last.kind !== 'note')
        rows.push({ kind: 'note', title: 'awaited' });
      if (last?.kind === 'own' && isSame(last.frame, frame)) last.times++;
      else rows.push({ kind: 'own', frame, times: 1 });
    } else if (last?.kind === 'foreign') last.frames.push(frame);
    else rows.push({ kind: 'foreign', title: '', frames: [frame] });
  }
  for (const row of rows)
    if (row.kind === 'foreign') row.title = `${frameCount(row.frames.length)} in ${namesOf(row.frames)}`;
  const first = frames[listed.length];
  if (shared > 0 && first !== undefined) {
    const from = first.function ?? first.file ?? 'there';
    rows.push({ kind: 'note', title: `the same ${frameCount(shared)} as above, from ${from} on` });
  }
  return rows;
}

/** Lines of the trace as Node prints it: shared ends are left out, and counted. */
export function traceLines(thrown: Thrown, indent = ''): string[] {
  return thrown.chain.flatMap((link, index) => {
    const shared = sharedEnd(link.frames, thrown.chain[index - 1]?.frames ?? []);
    const frames = link.frames
      .slice(0, link.frames.length - shared)
      .flatMap((frame) => [
        ...(frame.skipped === undefined ? [] : [`${indent}    … ${frameCount(frame.skipped)} more`]),
        indent + frameLine(frame),
      ]);
    const message = link.message.length > 1000 ? `${link.message.slice(0, 1000)}…` : link.message;
    const skipped = link.skipped === undefined ? '' : `… ${link.skipped} causes left out\n`;
    const head =
      `${skipped}${index === 0 ? '' : '[cause]: '}${errorText({ name: link.class, message })}`.split('\n');
    if (shared > 0) frames.push(`${indent}    … the same ${frameCount(shared)} as above`);
    const members = link.errors.flatMap((member) => traceLines(member, `${indent}    `));
    return [...head.map((line) => indent + line), ...frames, ...members];
  });
}

const MOST_PROPERTIES = 50;
const LONGEST_PROPERTY = 2000;

function shortValue(value: unknown): unknown {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  return text.length > LONGEST_PROPERTY ? truncateText(text, LONGEST_PROPERTY) : value;
}

export function propertyRows(chain: readonly ThrownLink[]): {
  rows: { name: string; value: unknown }[];
  left: number;
} {
  const all = chain.flatMap((link) =>
    [['code', link.code] as const, ['status', link.status] as const, ...Object.entries(link.properties)]
      .filter(([name, value]) => value !== null || (name !== 'code' && name !== 'status'))
      .map(([name, value]) => ({ name: chain.length === 1 ? name : `${link.class}.${name}`, value })),
  );
  const rows = all.slice(0, MOST_PROPERTIES).map(({ name, value }) => ({ name, value: shortValue(value) }));
  return { rows, left: all.length - rows.length };
}

const LONGEST_HEADLINE = 300;

/** The most useful line of a message: the first, or the last if a template engine puts the place before it. */
export function headline(message: string): string {
  const lines = message.split('\n').filter((line) => line.trim() !== '');
  const first = lines[0] ?? '';
  const line = lines.length > 1 && /^\S.*:\d+$/.test(first) ? (lines.at(-1) ?? first) : first;
  return line.length > LONGEST_HEADLINE ? `${line.slice(0, LONGEST_HEADLINE)}…` : line;
}

export function framePlace({ file, line }: ThrownFrame): string {
  return file === null ? 'native code' : [file, line].filter((part) => part !== null).join(':');
}

export const frameHelpers = {
  groupFrames,
  traceLines: (thrown: Thrown): string[] => traceLines(thrown),
  propertyRows,
  headline,
  framePlace,
} as const;
