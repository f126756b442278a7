/**
 * The values that the debugger read (values.ts) -> the frames of the errors that a profile shows, and the errors that own code caught. A call belongs to
 * a frame if both are at the same line, or in the same function, when it threw the error on after an await.
 */
import type { Context } from '../../profiler/record/context.ts';
import type { ThrownFrame } from '../../profiler/record/thrown.ts';
import { describeError } from '../../profiler/record/thrown-value.ts';
import type { Stop, StoppedCall, Swallowed, ValuesRecord } from '../../profiler/record/values.ts';
import { placeText, sourcePosition } from '../stacks/caller.ts';
import type { SourceFiles } from '../stacks/source-files.ts';
import type { SourceMaps } from '../stacks/source-maps.ts';
import { filePathOf } from '../stacks/stack-frames.ts';

const MOST_SWALLOWED = 20;
/** Lines of a `try` block that are searched for its `catch`. */
const MOST_LINES = 200;

function plainName(name: string): string {
  return /[\w$]+$/.exec(name.replace(/ \[as .*$/, ''))?.[0] ?? '';
}

function indentOf(line: string): number {
  return line.search(/\S/);
}

/** The line of the `catch` whose `try` block a line is in, as formatted code has it: both begin at the same column. null if there is none. */
function catchLine(lines: readonly string[], line: number): number | null {
  let indent = indentOf(lines[line - 1] ?? '');
  for (let at = line; at < lines.length && at < line + MOST_LINES; at++) {
    const text = lines[at] ?? '';
    const column = indentOf(text);
    if (column === -1 || column >= indent) continue;
    if (/^\s*\}?\s*catch\b/.test(text)) return at + 1;
    // Code after the block, or the end of the function.
    if (!/^\s*[})\]]/.test(text)) return null;
    if (/^\}|=>|^\s*\}\s*(?:finally|else)\b/.test(text)) return null;
    indent = column;
  }
  return null;
}

function isEmptyBlock(lines: readonly string[], catchAt: number): boolean {
  const text = lines[catchAt - 1] ?? '';
  return /\{\s*\}/.test(text) || (/\{\s*$/.test(text) && /^\s*\}/.test(lines[catchAt] ?? ''));
}

export function sourceOfScript(
  { url, line, column }: Pick<StoppedCall, 'url' | 'line' | 'column'>,
  maps: SourceMaps,
): { file: string; line: number } {
  const path = filePathOf(url);
  // Node knows a module by its address, or by its path.
  const found = [url, path]
    .map((name) => sourcePosition(name, line, column, maps))
    .find((position) => position.file !== path || position.line !== line);
  return found ?? { file: path, line };
}

export function createValueFrames(options: {
  root: string;
  files: Pick<SourceFiles, 'lines'>;
  maps: SourceMaps;
}) {
  const { root, files, maps } = options;
  const sourceOf = (call: Pick<StoppedCall, 'url' | 'line' | 'column'>) => sourceOfScript(call, maps);

  /** Functions without a name, such as most handlers: the error was made on an earlier line than it was thrown. */
  function isUnnamedIn(call: StoppedCall, { function: name, file, line }: ThrownFrame): boolean {
    if (call.name !== '' || name !== null || line === null) return false;
    const [begins, at] = [sourceOf({ ...call, ...call.begins }), sourceOf(call)];
    return placeText(root, { ...at, line }) === `${file}:${line}` && begins.line <= line && line <= at.line;
  }

  const placeOf = (call: StoppedCall): string => placeText(root, sourceOf(call));

  function isIn(call: StoppedCall, { function: name, file }: ThrownFrame): boolean {
    const own = plainName(call.name);
    return own !== '' && own === plainName(name ?? '') && placeOf(call).replace(/:\d+$/, '') === file;
  }

  function isOnLine({ excerpt, line }: ThrownFrame, name: string): boolean {
    const text = excerpt === null || line === null ? '' : (excerpt.lines[line - excerpt.from] ?? '');
    return new RegExp(`(?<![\\w$.])${name.replaceAll('$', '\\$')}(?![\\w$])`).test(text);
  }

  function caughtAt(calls: readonly StoppedCall[]): { place: string; isEmpty: boolean } | null {
    for (const call of calls) {
      const { file, line } = sourceOf(call);
      const lines = maps.sourceLines(file) ?? files.lines(file) ?? [];
      const at = catchLine(lines, line);
      if (at !== null)
        return { place: placeText(root, { file, line: at }), isEmpty: isEmptyBlock(lines, at) };
    }
    return null;
  }

  function swallowedOf({ error, atMs, calls }: Stop, isAsked: boolean): Swallowed {
    const { name, message } = describeError(error);
    const [call] = calls;
    const caught = caughtAt(calls);
    return {
      class: name,
      message,
      atMs,
      times: 1,
      thrown: call === undefined ? '' : placeOf(call),
      caught: caught?.place ?? null,
      isEmptyCatch: caught?.isEmpty === true,
      ...(isAsked && call !== undefined ? { values: call.values } : {}),
    };
  }

  return {
    /** The frames of an error, with values; `wrappers`: errors that it caused, the nearest first; `stops`: of the same request. */
    withValues(
      frames: ThrownFrame[],
      error: unknown,
      { stops, wrappers }: { stops: readonly Stop[]; wrappers: readonly unknown[] },
    ): ThrownFrame[] {
      const stopsFor = (thrown: unknown): Stop[] => stops.filter((stop) => stop.error === thrown);
      const own = stopsFor(error);
      const later = wrappers.flatMap(stopsFor);
      for (const stop of own) stop.isShown = true;
      if (own.length + later.length === 0) return frames;
      const calls = [...own, ...later].flatMap((stop) =>
        stop.calls.map((call) => ({ call, isThrow: stop === own[0] })),
      );
      const taken = new Set<StoppedCall>();
      // Else one of the calls is not on the stack of the error, or the other way round.
      const isWhole = frames.filter(({ kind }) => kind === 'own').length === own[0]?.calls.length;
      return frames.map((frame) => {
        if (frame.kind !== 'own' || frame.file === null) return frame;
        const free = calls.filter(({ call }) => !taken.has(call));
        const found =
          free.find(({ call }) => placeOf(call) === `${frame.file}:${frame.line}`) ??
          free.find(({ call }) => isIn(call, frame)) ??
          free.find(({ call, isThrow }) => isWhole && isThrow && isUnnamedIn(call, frame));
        if (found === undefined) return frame;
        const { call, isThrow } = found;
        taken.add(call);
        const values = Object.fromEntries(
          Object.entries(call.values).filter(([name]) => !call.outer.includes(name) || isOnLine(frame, name)),
        );
        return { ...frame, values, ...(isThrow ? {} : { isRethrow: true as const }) };
      });
    },
    rawFrames: (value: unknown, stops: readonly Stop[]) =>
      (stops.find(({ error }) => error === value)?.calls ?? []).map(({ name, url, line, column }) => ({
        function: name === '' ? null : name,
        location: filePathOf(url),
        line,
        column,
        async: false,
      })),
    /** null if no values were read for this request. */
    recordOf(context: Context): ValuesRecord | null {
      const fact = context.first('values');
      if (fact === undefined) return null;
      const { asked, stops, ended } = fact;
      const shown = context.all('error').map(({ error }) => error);
      const all = new Map<string, Swallowed>();
      for (const stop of stops) {
        if (stop.isShown || shown.includes(stop.error)) continue;
        const one = swallowedOf(stop, asked.caught || shown.length === 0);
        const key = `${one.class} ${one.thrown}`;
        const known = all.get(key);
        if (known === undefined) all.set(key, one);
        else known.times++;
      }
      const swallowed = [...all.values()];
      return {
        of: asked.of,
        stops: stops.length,
        stoppedMs: Math.round(fact.stoppedMs() * 10) / 10,
        ended,
        swallowed: swallowed.slice(0, MOST_SWALLOWED),
        swallowedLeft: Math.max(0, swallowed.length - MOST_SWALLOWED),
      };
    },
  };
}

export type ValueFrames = ReturnType<typeof createValueFrames>;
