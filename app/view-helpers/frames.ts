/** Frames of an error as the exception panel lists them: own ones alone, runs of foreign ones folded, repeats named. */
import type { Thrown, ThrownFrame, ThrownLink } from '../profiler/thrown.ts';

export type FrameRow =
  /** `times`: how often in a row it stands there, as in a recursion. */
  | { kind: 'own'; frame: ThrownFrame; times: number }
  | { kind: 'awaited' }
  | { kind: 'foreign'; title: string; frames: ThrownFrame[] }
  /** The rest is the end of the stack listed before. */
  | { kind: 'same'; title: string };

/** How to open a file on the developer's machine. */
export interface EditorOptions {
  /** `%f` file, `%l` line, `%c` column, such as `vscode://file/%f:%l:%c`. */
  url: string;
  /** Where the application's folder lies there: other than here, where it runs in a container. */
  root: string;
}

function frameCount(count: number): string {
  return count === 1 ? '1 frame' : `${count} frames`;
}

/** `express, router and 2 others`. */
function namesOf(frames: readonly ThrownFrame[]): string {
  const names = [
    ...new Set(
      frames.map(({ kind, package: name }) => (kind === 'vendor' ? (name ?? 'other folders') : 'node')),
    ),
  ];
  const shown = names.slice(0, 3);
  const rest = names.length - shown.length;
  const last = rest > 0 ? `${rest} others` : (shown.pop() ?? '');
  return shown.length === 0 ? last : `${shown.join(', ')} and ${last}`;
}

function isSame(a: ThrownFrame | undefined, b: ThrownFrame | undefined): boolean {
  return (
    a !== undefined &&
    b !== undefined &&
    a.file === b.file &&
    a.line === b.line &&
    a.column === b.column &&
    a.function === b.function
  );
}

/** How many frames at the end of `frames` are the end of `before` too; fewer than two are not worth naming. */
function sharedEnd(frames: readonly ThrownFrame[], before: readonly ThrownFrame[]): number {
  let shared = 0;
  while (shared < frames.length - 1 && isSame(frames.at(-1 - shared), before.at(-1 - shared))) shared++;
  return shared < 2 ? 0 : shared;
}

/** `src/a.ts:3:7`; empty for native code. */
function placeOf({ file, line, column }: ThrownFrame): string {
  if (file === null) return '';
  return [file, line, column].filter((part) => part !== null).join(':');
}

function frameLine(frame: ThrownFrame): string {
  const place = placeOf(frame) || 'native';
  const name = frame.function === null ? place : `${frame.function} (${place})`;
  return `    at ${frame.async ? 'async ' : ''}${name}`;
}

function groupFrames(link: ThrownLink, before: ThrownLink | null): FrameRow[] {
  const shared = before === null ? 0 : sharedEnd(link.frames, before.frames);
  const listed = link.frames.slice(0, link.frames.length - shared);
  const rows: FrameRow[] = [];
  for (const frame of listed) {
    const last = rows.at(-1);
    if (frame.kind === 'own') {
      if (frame.async && last !== undefined && last.kind !== 'awaited') rows.push({ kind: 'awaited' });
      if (last?.kind === 'own' && isSame(last.frame, frame)) last.times++;
      else rows.push({ kind: 'own', frame, times: 1 });
    } else if (last?.kind === 'foreign') last.frames.push(frame);
    else rows.push({ kind: 'foreign', title: '', frames: [frame] });
  }
  for (const row of rows)
    if (row.kind === 'foreign') row.title = `${frameCount(row.frames.length)} in ${namesOf(row.frames)}`;
  const first = link.frames[listed.length];
  if (shared > 0 && first !== undefined) {
    const from = first.function ?? first.file ?? 'there';
    rows.push({ kind: 'same', title: `the same ${frameCount(shared)} as above, from ${from} on` });
  }
  return rows;
}

/** Lines of the trace as Node prints it, with shared ends left out and counted. */
function traceLines(thrown: Thrown, indent = ''): string[] {
  return thrown.chain.flatMap((link, index) => {
    const before = thrown.chain[index - 1] ?? null;
    const shared = before === null ? 0 : sharedEnd(link.frames, before.frames);
    const frames = link.frames
      .slice(0, link.frames.length - shared)
      .map((frame) => indent + frameLine(frame));
    const message = link.message.length > 1000 ? `${link.message.slice(0, 1000)}…` : link.message;
    const head = `${index === 0 ? '' : '[cause]: '}${link.class}: ${message}`.split('\n');
    if (shared > 0) frames.push(`${indent}    … the same ${frameCount(shared)} as above`);
    if (link.framesCut > 0) frames.push(`${indent}    … ${frameCount(link.framesCut)} more`);
    const members = link.errors.flatMap((member) => traceLines(member, `${indent}    `));
    return [...head.map((line) => indent + line), ...frames, ...members];
  });
}

/** Longest headline; the whole message is shown below it. */
const LONGEST_HEADLINE = 300;

/** The line of a message that says what is wrong: the first, or the last where a template engine puts the place before it. */
function headline(message: string): string {
  const lines = message.split('\n').filter((line) => line.trim() !== '');
  const first = lines[0] ?? '';
  const line = lines.length > 1 && /^\S.*:\d+$/.test(first) ? (lines.at(-1) ?? first) : first;
  return line.length > LONGEST_HEADLINE ? `${line.slice(0, LONGEST_HEADLINE)}…` : line;
}

export function createFrameHelpers(editor?: EditorOptions) {
  return {
    groupFrames,
    traceLines,
    headline,
    framePlace: (frame: ThrownFrame): string =>
      frame.file === null
        ? 'native code'
        : [frame.file, frame.line].filter((part) => part !== null).join(':'),
    /** Address that opens a file of the application in the editor; null where none is set up, or it is another's file. */
    editorUrl({ file, line, column }: Pick<ThrownFrame, 'file' | 'line' | 'column'>): string | null {
      if (editor === undefined || file === null || file.startsWith('/') || file.includes(':')) return null;
      const path = `${editor.root.replace(/\/+$/, '')}/${file}`.split('/').map(encodeURIComponent).join('/');
      const values: Record<string, string> = {
        f: path.replace(/^\//, ''),
        l: String(line ?? 1),
        c: String(column ?? 1),
      };
      return editor.url.replace(/%([flc])/g, (_all, name: string) => values[name] ?? '');
    },
  } as const;
}
