/**
 * The text of a stack -> frames. Pure, opens no file, linear in the length of the truncated text. The text is not trusted: a
 * message may contain lines that look like frames, and `stack` can be assigned. So its head is removed by the known message, and
 * only source-files.ts decides which file may be opened.
 */
import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dropOldest } from '../../profiler/drop-oldest.ts';

export interface RawFrame {
  function: string | null;
  location: string | null;
  line: number | null;
  column: number | null;
  async: boolean;
}

/** Characters of a stack that are read, after its head. */
const LONGEST_STACK = 131_072;
const LONGEST_LINE = 1200;
const MOST_LINES = 400;

const NAMELESS = new Set(['', '<anonymous>', 'Object.<anonymous>', 'Module.<anonymous>', 'anonymous']);

/** Paths of the file URLs that were asked for last: most frames are in the same few files. */
const paths = new Map<string, string>();
const PATHS_KEPT = 200;

export function filePathOf(address: string): string {
  if (!address.startsWith('file://')) return address;
  let path = paths.get(address);
  if (path === undefined) {
    path = pathOfUrl(address);
    paths.set(address, path);
    dropOldest(paths, PATHS_KEPT);
  }
  return path;
}

function pathOfUrl(address: string): string {
  const end = address.search(/[?#]/);
  try {
    return fileURLToPath(end === -1 ? address : address.slice(0, end));
  } catch {
    return address;
  }
}

function placeOf(text: string): Pick<RawFrame, 'location' | 'line' | 'column'> | null {
  const match = /:(\d{1,9})(?::(\d{1,9}))?$/.exec(text);
  if (match === null) return null;
  return {
    location: filePathOf(text.slice(0, match.index)),
    line: Number(match[1]),
    column: match[2] === undefined ? null : Number(match[2]),
  };
}

function placeOfEval(text: string): Pick<RawFrame, 'location' | 'line' | 'column'> | null {
  const open = text.lastIndexOf(' (');
  const close = text.indexOf(')', open);
  return open === -1 || close === -1 ? null : placeOf(text.slice(open + 2, close));
}

function parseFrame(line: string): RawFrame | null {
  const text = line.trim();
  if (!text.startsWith('at ') || text.length > LONGEST_LINE) return null;
  const isAsync = text.startsWith('at async ');
  const rest = text.slice(isAsync ? 9 : 3);
  const open = rest.endsWith(')') ? rest.indexOf(' (') : -1;
  const name = open === -1 ? '' : rest.slice(0, open);
  const inner = open === -1 ? rest : rest.slice(open + 2, -1);
  const place = inner.startsWith('eval at ') ? placeOfEval(inner) : placeOf(inner);
  if (place === null && !/^(?:<anonymous>|native|unknown location|index \d+)$/.test(inner)) return null;
  return {
    function: NAMELESS.has(name) ? null : name,
    ...(place ?? { location: null, line: null, column: null }),
    async: isAsync,
  };
}

/** The part of a stack after its head, which repeats name and message. */
function withoutHead(stack: string, heads: readonly string[]): string {
  for (const head of heads) {
    if (head !== '' && stack.startsWith(head)) return stack.slice(head.length);
  }
  return stack;
}

/** The last unbroken run of frames: all that is reliable when the message was changed after the stack was taken. */
function lastRun(lines: readonly string[]): string[] {
  let start = lines.length;
  while (start > 0 && parseFrame(lines[start - 1] ?? '') !== null) start--;
  return lines.slice(start);
}

export function parseStack(stack: string, name: string, message: string): RawFrame[] {
  const heads = message === '' ? [name] : [`${name}: ${message}`, `Error: ${message}`, message];
  const body = withoutHead(stack, heads);
  const known = body.length !== stack.length;
  const text = known ? body.slice(0, LONGEST_STACK) : body.slice(-LONGEST_STACK);
  const lines = text.split('\n').map((line) => line.slice(0, LONGEST_LINE + 1));
  while (lines.length > 0 && lines.at(-1)?.trim() === '') lines.pop();
  const used = known ? lines : lastRun(lines);
  return used
    .slice(0, MOST_LINES)
    .map(parseFrame)
    .filter((frame) => frame !== null);
}

export function headPlace(text: string): RawFrame | null {
  const first = text.slice(0, LONGEST_LINE).split('\n', 1)[0] ?? '';
  const place = placeOf(first.trim());
  const isPath = isAbsolute(place?.location ?? '');
  return place === null || !isPath ? null : { function: null, ...place, async: false };
}
