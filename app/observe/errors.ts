/**
 * Any thrown value -> plain JSON (`Thrown`): class, message, properties, cause chain, members, frames with excerpts of own source.
 * The result is bounded in size and time, also for hostile values. Never throws.
 */
import { performance } from 'node:perf_hooks';
import { types } from 'node:util';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { truncateText } from '../profiler/record/plain.ts';
import { dropOldest } from '../profiler/drop-oldest.ts';
import {
  EMPTY_LINK,
  type FrameKind,
  type Thrown,
  type ThrownFrame,
  type ThrownLink,
} from '../profiler/record/thrown.ts';
import { isProfilerFile, WEBPACK } from './stacks/caller.ts';
import { createOwnCode, packageOf, realPathOf } from './stacks/own-code.ts';
import { withoutProfilerFrames } from './stacks/profiler-frames.ts';
import type { SourceFiles } from './stacks/source-files.ts';
import type { SourceMaps } from './stacks/source-maps.ts';
import { excerptOf } from './stacks/place-excerpts.ts';
import { headPlace, parseStack, type RawFrame } from './stacks/stack-frames.ts';
import {
  classOf,
  codeOf,
  truncateMessage,
  membersOf,
  messageOfError,
  messageOfValue,
  propertiesOf,
  statusOf,
  textOf,
} from '../profiler/record/thrown-value.ts';
import { field, has, isError, isObject } from '../profiler/record/safe-read.ts';
import type { Stop } from '../profiler/record/values.ts';
import type { ValueFrames } from './values/value-frames.ts';

/** `stops`: of the debugger, for the request that threw it; default: none. */
export type DescribeThrown = (value: unknown, stops?: readonly Stop[]) => Thrown;

export interface ErrorDescriberOptions {
  root: string;
  files: SourceFiles;
  maps: SourceMaps;
  foreignFolders?: readonly string[];
  sourceBudgetMs?: number;
  values?: Pick<ValueFrames, 'withValues' | 'rawFrames'> | undefined;
}

const OUTER_CAUSES = 3;
const INNER_CAUSES = 7;
/** A chain that is longer has no end, most likely. */
const MOST_CAUSES = 1000;
const MOST_MEMBERS = 10;
const MOST_LINKS = 30;
/** Of a stack: where the error was thrown, and where the request came in. */
const TOP_FRAMES = 35;
const BOTTOM_FRAMES = 15;
const EXCERPTS_PER_LINK = 4;
const MOST_EXCERPTS = 20;
const AROUND = { before: 5, after: 5, longest: 300 };
const SOURCE_BUDGET_MS = 60;
/** Files whose place is remembered: the same ones are in nearly every stack. */
const MOST_FILES = 300;

/** `isEvaluated`: its lines are those of the code that webpack made of it. */
type KnownFile = Pick<ThrownFrame, 'kind' | 'package'> & { path: string; isEvaluated?: true };

interface Budget {
  links: number;
  excerpts: number;
  deadline: number;
  stops: readonly Stop[];
}

/** The file that could not be parsed: Node names it above the stack, template engines in the message and `path`. */
function unparsedPlace(value: object, stack: string, message: string): RawFrame | null {
  const named = headPlace(stack);
  if (named !== null) return named;
  const place = headPlace(message);
  return place !== null && place.location === field(value, 'path') ? place : null;
}

/** got gives an error without a cause an empty object. */
function isBlank(cause: unknown): boolean {
  if (!isObject(cause) || types.isProxy(cause) || isError(cause)) return false;
  return Object.getPrototypeOf(cause) === Object.prototype && Reflect.ownKeys(cause).length === 0;
}

export function createErrorDescriber(options: ErrorDescriberOptions): DescribeThrown {
  const { root, files, maps, foreignFolders = [], sourceBudgetMs = SOURCE_BUDGET_MS } = options;
  const { values } = options;

  const knownFiles = new Map<string, KnownFile>();
  const roots = [...new Set([root, realPathOf(root)])];
  const isOwn = createOwnCode(root);

  function shortPath(file: string): string {
    if (!isAbsolute(file)) return file;
    const path = roots
      .map((folder) => relative(folder, file))
      .find((inside) => inside !== '' && !inside.startsWith('..') && !isAbsolute(inside));
    return path === undefined ? file : path.split(sep).join('/');
  }

  function kindOf(location: string, path: string): FrameKind {
    if (location.startsWith('node:')) return 'node';
    const isForeign = isProfilerFile(location) || foreignFolders.some((folder) => path.startsWith(folder));
    return isAbsolute(location) && isOwn(location) && !isForeign ? 'own' : 'vendor';
  }

  function evaluatedFile(location: string): KnownFile | null {
    const path = WEBPACK.exec(location)?.[1];
    const source = path === undefined ? null : resolve(root, path);
    if (source === null || !isOwn(source) || files.changedAt(source) === null) return null;
    return { path: shortPath(source), kind: 'own', package: null, isEvaluated: true };
  }

  function fileOf(location: string): KnownFile {
    const known = knownFiles.get(location);
    if (known !== undefined) return known;
    const path = shortPath(location);
    const file = evaluatedFile(location) ?? {
      path,
      kind: kindOf(location, path),
      package: packageOf(location),
    };
    knownFiles.set(location, file);
    dropOldest(knownFiles, MOST_FILES);
    return file;
  }

  /** Node.js loads a file once; a template is read anew. */
  function isChanged(file: string): boolean {
    if (!/\.[cm]?[jt]sx?$/.test(file)) return false;
    return (files.changedAt(file) ?? 0) > Date.now() - process.uptime() * 1000;
  }

  /** Original place of a frame, and its source, as far as the budget goes. */
  function locate(raw: RawFrame, budget: Budget, wantsSource: boolean): ThrownFrame {
    const file = raw.location === null ? null : fileOf(raw.location);
    const ran = file?.path ?? null;
    const isWritten = file?.isEvaluated !== true;
    let frame: ThrownFrame = {
      function: raw.function === null ? null : truncateText(raw.function, 200),
      file: ran,
      line: isWritten ? raw.line : null,
      column: isWritten ? raw.column : null,
      kind: file?.kind ?? 'native',
      package: file?.package ?? null,
      async: raw.async,
      ranFrom: null,
      excerpt: null,
    };
    if (frame.kind !== 'own' || raw.location === null || raw.line === null || !isWritten) return frame;
    if (performance.now() > budget.deadline) return frame;
    const original = maps.original(raw.location, raw.line, raw.column ?? 1);
    if (original !== null) {
      const ranFrom = `${ran ?? ''}:${raw.line}${raw.column === null ? '' : `:${raw.column}`}`;
      const { line, column } = original;
      frame = { ...frame, file: shortPath(original.file), line, column, ranFrom };
    }
    if (!wantsSource || budget.excerpts === 0) return frame;
    const lines = original === null ? files.lines(raw.location) : original.lines;
    const excerpt = lines === null || frame.line === null ? null : excerptOf(lines, frame.line, AROUND);
    if (excerpt === null) return frame;
    budget.excerpts--;
    if (original === null && isChanged(raw.location)) excerpt.isChanged = true;
    return { ...frame, excerpt };
  }

  function framesOf(value: object, message: string, budget: Budget): ThrownFrame[] {
    const stack = textOf(field(value, 'stack'));
    if (stack === null) return [];
    const name = textOf(field(value, 'name')) ?? 'Error';
    const raw = parseStack(withoutProfilerFrames(stack), name, message);
    const unparsed = unparsedPlace(value, stack, message);
    if (unparsed !== null) raw.unshift(unparsed);
    let own = 0;
    const skipped = Math.max(0, raw.length - TOP_FRAMES - BOTTOM_FRAMES);
    if (skipped > 0) raw.splice(TOP_FRAMES, skipped);
    return raw.map((one, index) => {
      const frame = locate(one, budget, own < EXCERPTS_PER_LINK);
      if (frame.kind === 'own') own++;
      return skipped > 0 && index === TOP_FRAMES ? { ...frame, skipped } : frame;
    });
  }

  /** Its `cause`; for an error that a library made of one of the application, without a frame of its code, what the library kept of it. */
  function causeOf(value: object): unknown {
    const cause = has(value, 'cause') ? field(value, 'cause') : undefined;
    if (has(value, 'cause') && !isBlank(cause)) return cause;
    const original = has(value, 'original') ? field(value, 'original') : undefined;
    if (!isObject(original) || !isError(original)) return undefined;
    const frames = framesOf(value, '', { links: 0, excerpts: 0, deadline: 0, stops: [] });
    return frames.some(({ kind }) => kind === 'own') ? undefined : original;
  }

  function describeObject(value: object, budget: Budget, above: ReadonlySet<object>): ThrownLink {
    const error = isError(value);
    const whole = error ? messageOfError(value) : messageOfValue(value);
    const bare = framesOf(value, error ? (textOf(field(value, 'message')) ?? '') : whole, budget);
    const wrappers = [...above].filter((one) => one !== value).reverse();
    const frames = values?.withValues(bare, value, { stops: budget.stops, wrappers }) ?? bare;
    const members = membersOf(value);
    const errors: Thrown[] = [];
    for (const member of members.slice(0, MOST_MEMBERS))
      if (!above.has(member) && budget.links > 0) errors.push(describe(member, budget, above));
    return {
      class: classOf(value),
      isError: error,
      ...truncateMessage(whole),
      code: codeOf(value),
      status: statusOf(value),
      properties: propertiesOf(value),
      frames,
      errors,
      errorsDropped: members.length - errors.length,
    };
  }

  function describeScalar(value: unknown, budget: Budget): ThrownLink {
    const { stops } = budget;
    const frames = (values?.rawFrames(value, stops) ?? []).map((raw) => locate(raw, budget, true));
    return {
      ...EMPTY_LINK,
      frames: values?.withValues(frames, value, { stops, wrappers: [] }) ?? [],
      class: value === null ? 'null' : typeof value,
      isError: false,
      ...truncateMessage(messageOfValue(value)),
    };
  }

  function causesOf(
    value: unknown,
    above: ReadonlySet<object>,
  ): { values: unknown[]; end: Thrown['chainEnd'] } {
    const values = [value];
    const seen = new Set(above);
    for (let last = value; isObject(last); last = values.at(-1)) {
      seen.add(last);
      const cause = causeOf(last);
      if (cause === undefined || cause === null) break;
      if (isObject(cause) && seen.has(cause)) return { values, end: 'circular' };
      if (values.length >= MOST_CAUSES) return { values, end: 'truncated' };
      values.push(cause);
    }
    return { values, end: 'root' };
  }

  function describe(value: unknown, budget: Budget, above: ReadonlySet<object>): Thrown {
    const { values, end } = causesOf(value, above);
    const skipped = Math.max(0, values.length - OUTER_CAUSES - INNER_CAUSES);
    const chain: ThrownLink[] = [];
    const seen = new Set(above);
    for (const [index, one] of values.entries()) {
      if (isObject(one)) seen.add(one);
      if (index >= OUTER_CAUSES && index < OUTER_CAUSES + skipped) continue;
      if (budget.links-- <= 0 && chain.length > 0) return { chain, chainEnd: 'truncated' };
      const link = isObject(one) ? describeObject(one, budget, seen) : describeScalar(one, budget);
      chain.push(skipped > 0 && index === OUTER_CAUSES + skipped ? { ...link, skipped } : link);
    }
    return { chain, chainEnd: end };
  }

  return (value, stops = []) => {
    const budget = {
      links: MOST_LINKS,
      excerpts: MOST_EXCERPTS,
      deadline: performance.now() + sourceBudgetMs,
      stops,
    };
    try {
      return describe(value, budget, new Set());
    } catch {
      const link = {
        ...EMPTY_LINK,
        isError: false,
        class: 'unreadable',
        message: 'The thrown value can’t be read.',
      };
      return { chain: [link], chainEnd: 'root' };
    }
  };
}
