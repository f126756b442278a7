/**
 * The functions of a CPU profile: whose code each is, and where it stands in its source. V8 knows where a function begins; which of its
 * lines makes a call is searched in its text.
 */
import { isBuiltin } from 'node:module';
import type { SampledFunction } from '../../profiler/record/cpu-samples.ts';
import { isMountingFrame, isProfilerFile, placeText } from '../stacks/caller.ts';
import type { CallFrame, CutNode } from './cpu-cut.ts';
import { createOwnCode, packageOf } from '../stacks/own-code.ts';
import type { SourceFiles } from '../stacks/source-files.ts';
import type { SourceMaps } from '../stacks/source-maps.ts';
import { filePathOf } from '../stacks/stack-frames.ts';
import { sourceOfScript } from '../values/value-frames.ts';

export interface DescribedFunctions {
  functions: SampledFunction[];
  indexes: number[];
  callLines: number[];
}

export interface FunctionOptions {
  root: string;
  files: Pick<SourceFiles, 'lines'>;
  maps: SourceMaps;
}

interface Source {
  line: number;
  lines: readonly string[] | null;
  file: string;
  isMapped: boolean;
}

const OURS = 'express-hindsight';
const LONGEST = 200;
/** Lines of a function that are searched. */
const MOST_LINES = 400;

function publicModule(url: string): string {
  const [, name = ''] = /^node:internal\/([a-z_]+)/.exec(url) ?? [];
  return isBuiltin(`node:${name}`) ? `node:${name}` : url;
}

/** The only line of the function that calls `name`; 0 if there is none, or several. */
function callLine({ line, lines }: Source, name: string): number {
  const called = /[\w$]+$/.exec(name)?.[0] ?? '';
  const first = lines?.[line - 1];
  if (lines === null || first === undefined || called === '') return 0;
  const indent = /^\s*/.exec(first)?.[0] ?? '';
  const call = new RegExp(`(?<![\\w$])${called.replaceAll('$', '\\$')}\\s*\\(`);
  const found: number[] = [];
  for (let at = line; at < lines.length && at < line + MOST_LINES; at++) {
    const text = lines[at] ?? '';
    if (text.startsWith(`${indent}}`)) break;
    if (call.test(text)) found.push(at + 1);
  }
  return found.length === 1 ? (found[0] ?? 0) : 0;
}

export function describeFunctions(
  nodes: readonly CutNode[],
  { root, files, maps }: FunctionOptions,
): DescribedFunctions {
  const isOwn = createOwnCode(root);
  const functions: SampledFunction[] = [];
  const known = new Map<string, number>();
  const sources = new Map<number, Source>();
  const ticks = new Map<number, Map<number, number>>();

  function sourceOf({ url, lineNumber, columnNumber }: CallFrame): Source {
    const { file, line } = sourceOfScript({ url, line: lineNumber + 1, column: columnNumber + 1 }, maps);
    const isMapped = file !== filePathOf(url) || line !== lineNumber + 1;
    return { file, line, lines: maps.sourceLines(file) ?? files.lines(file), isMapped };
  }

  function make(frame: CallFrame, index: number): SampledFunction {
    const { url, lineNumber: line, columnNumber: column } = frame;
    const name = frame.functionName.slice(0, LONGEST);
    const path = filePathOf(url);
    const base = { name, url, line, column };
    if (url === '' || url.startsWith('wasm:')) return { ...base, kind: 'node' };
    if (url.startsWith('node:')) return { ...base, kind: 'node', of: publicModule(url) };
    const library = packageOf(path);
    if (isProfilerFile(url) || isMountingFrame(url) || library === OURS) return { ...base, kind: 'profiler' };
    if (library !== null && !isOwn(path)) return { ...base, kind: 'package', of: library };
    const source = sourceOf(frame);
    sources.set(index, source);
    return { ...base, kind: 'own', place: placeText(root, source) };
  }

  function indexOf(frame: CallFrame): number {
    const key = `${frame.url}:${frame.lineNumber}:${frame.columnNumber}:${frame.functionName}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    const index = functions.length;
    known.set(key, index);
    functions.push(make(frame, index));
    return index;
  }

  const indexes = nodes.map(({ callFrame }) => indexOf(callFrame));
  nodes.forEach((node, at) => {
    const index = indexes[at] ?? -1;
    const source = sources.get(index);
    // Built code may have the whole source on one line.
    if (source === undefined || source.isMapped) return;
    const lines = ticks.get(index) ?? new Map<number, number>();
    ticks.set(index, lines);
    for (const { line, ticks: count } of node.ticks) lines.set(line, (lines.get(line) ?? 0) + count);
  });
  for (const [index, lines] of ticks) {
    const [busiest] = [...lines].sort((a, b) => b[1] - a[1]);
    const source = sources.get(index);
    const described = functions[index];
    if (busiest !== undefined && source !== undefined && described !== undefined && busiest[0] > 0)
      described.busiest = placeText(root, { file: source.file, line: busiest[0] });
  }
  const lineOf = new Map<string, number>();
  const callLines = nodes.map(({ parent }, at) => {
    const caller = indexes[parent];
    const callee = indexes[at];
    const source = caller === undefined ? undefined : sources.get(caller);
    if (source === undefined || callee === undefined) return 0;
    const key = `${String(caller)}>${callee}`;
    const line = lineOf.get(key) ?? callLine(source, functions[callee]?.name ?? '');
    lineOf.set(key, line);
    return line;
  });
  return { functions, indexes, callLines };
}
