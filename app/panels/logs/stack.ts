/** The stack of a logged error -> frames, as the error page lists them. */
import { isRecord, type Json } from '../../profiler/json.ts';
import type { FrameKind, ThrownFrame } from '../../profiler/record/thrown.ts';

const LONGEST_LINE = 1200;
const MOST_FRAMES = 30;
const FRAME = /^at (async )?(?:(.{1,400}?) \()?(.{1,1000}?):(\d{1,9})(?::(\d{1,9}))?\)?$/;

function kindOf(file: string): FrameKind {
  if (file.startsWith('node:')) return 'node';
  return /[\\/]node_modules[\\/]/.test(file) ? 'vendor' : 'own';
}

function packageOf(file: string): string | null {
  return /.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(file)?.[1] ?? null;
}

/** The folder of the application. The place that logged the line is relative to it, and usually one of the frames, which are absolute. */
function rootOf(files: readonly string[], caller: string | null): string {
  const place = caller?.replace(/:\d+$/, '') ?? '';
  if (place === '' || place.startsWith('/')) return '';
  const file = files.find((path) => path.endsWith(`/${place}`));
  return file === undefined ? '' : file.slice(0, file.length - place.length);
}

export interface LoggedStack {
  frames: ThrownFrame[];
  dropped: number;
}

export function readStack(stack: string, caller: string | null): LoggedStack {
  const lines = stack.split('\n').map((line) => line.trim());
  const found = lines.flatMap((line) => {
    const [, awaited, name, address = '', row, column] =
      line.length > LONGEST_LINE ? [] : (FRAME.exec(line) ?? []);
    if (row === undefined) return [];
    const file = address.replace(/^file:\/\//, '').replace(/\?.*$/, '');
    return [{ awaited: awaited !== undefined, name: name ?? null, file, row, column }];
  });
  const own = found.filter(({ file }) => kindOf(file) === 'own').map(({ file }) => file);
  const root = rootOf(own, caller);
  const frames = found.slice(0, MOST_FRAMES).map(({ awaited, name, file, row, column }): ThrownFrame => ({
    function: name,
    file: root !== '' && file.startsWith(root) ? file.slice(root.length) : file,
    line: Number(row),
    column: column === undefined ? null : Number(column),
    kind: kindOf(file),
    package: packageOf(file),
    async: awaited,
    ranFrom: null,
    excerpt: null,
  }));
  return { frames, dropped: found.length - frames.length };
}

type JsonObject = Record<string, Json>;

export function takeStack(context: Json | null): { rest: JsonObject | null; stack: string } | null {
  if (!isRecord(context)) return null;
  const { stack, ...rest } = context;
  if (typeof stack === 'string') return { rest: Object.keys(rest).length === 0 ? null : rest, stack };
  for (const [name, value] of Object.entries(context)) {
    if (!isRecord(value) || typeof value.stack !== 'string') continue;
    const { stack: inner, ...others } = value;
    return { rest: { ...context, [name]: others }, stack: inner };
  }
  return null;
}
