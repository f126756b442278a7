/** The stack of an error that was logged -> frames, as the error page lists them: own ones alone, foreign ones folded. */
import type { FrameKind, ThrownFrame } from '../../profiler/thrown.ts';

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

/**
 * The folder that own places are named from: what a frame has in front of the place where the line was logged, since that
 * place is relative and mostly one of the frames.
 */
function rootOf(files: readonly string[], caller: string | null): string {
  const place = caller?.replace(/:\d+$/, '') ?? '';
  if (place === '' || place.startsWith('/')) return '';
  const file = files.find((path) => path.endsWith(`/${place}`));
  return file === undefined ? '' : file.slice(0, file.length - place.length);
}

export interface LoggedStack {
  frames: ThrownFrame[];
  /** Lines behind the last frame that is listed. */
  cut: number;
}

/** `caller`: `src/a.ts:3`, where the line was logged. */
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
  return { frames, cut: found.length - frames.length };
}
