/** Which of the lines that led to a statement loops, as far as the source shows it. */
import type { SourceExcerpt } from '../../profiler/record/thrown.ts';

export type SourceAbove = (place: string) => SourceExcerpt | null;

const LOOP =
  /\b(?:for|while)\s*(?:await\s*)?\(|\bdo\s*\{|\b(?:map|flatMap|forEach|reduce|each|eachSeries|mapSeries|mapLimit|pMap|Array\.from)\s*\(/;
const BRANCH = /^\s*(?:\}\s*)?(?:if|else|switch|try|catch|finally|case|default|with)\b/;
const FUNCTION = /\bfunction\b|=>\s*[{(]?\s*$|^\s*(?:[\w$]+\s+)*[\w$#]+\s*\([^;]*\)[^;=]*\{\s*$/;
const COMMENT = /^\s*(?:\/\/|\*|\/\*)/;

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** Its own line loops, or a line that encloses it within the same function does. */
function isInLoop({ lines }: SourceExcerpt): boolean {
  const own = lines.at(-1) ?? '';
  if (LOOP.test(own)) return true;
  let indent = indentOf(own);
  for (const line of lines.slice(0, -1).reverse()) {
    if (line.trim() === '' || COMMENT.test(line) || indentOf(line) >= indent) continue;
    if (LOOP.test(line)) return true;
    indent = indentOf(line);
    if (!BRANCH.test(line) && FUNCTION.test(line)) return false;
  }
  return false;
}

/** The line that loops; null if that is `caller` itself, or the source shows no loop. */
export function loopAbove(caller: string, above: readonly string[], source: SourceAbove): string | null {
  const loop = [caller, ...above].find((place) => {
    const excerpt = source(place);
    return excerpt !== null && isInLoop(excerpt);
  });
  return loop === caller ? null : (loop ?? null);
}

export function usualPath(paths: readonly (readonly string[] | undefined)[]): readonly string[] | undefined {
  const times = new Map<string, number>();
  let usual: readonly string[] | undefined;
  for (const path of paths) {
    if (path === undefined) continue;
    const key = path.join('\n');
    times.set(key, (times.get(key) ?? 0) + 1);
    if (usual === undefined || (times.get(key) ?? 0) > (times.get(usual.join('\n')) ?? 0)) usual = path;
  }
  return usual;
}

/** Each run came another way: a helper that several places call, and no loop. */
export function areApart(paths: readonly (readonly string[] | undefined)[]): boolean {
  const known = paths.flatMap((path) => path?.join('\n') ?? []);
  return known.length > 1 && known.length >= paths.length - 1 && new Set(known).size === known.length;
}
