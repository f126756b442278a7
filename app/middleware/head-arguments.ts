/** The headers among the arguments of `writeHead`, whose form is an object, a flat list, or a list of pairs. */
type GivenHeaders = Record<string, unknown> | unknown[];

/** Their index. */
function headersIndex(args: readonly unknown[]): number {
  return typeof args[1] === 'string' ? 2 : 1;
}

function isHeaders(value: unknown): value is GivenHeaders {
  return typeof value === 'object' && value !== null;
}

function pairsOf(given: GivenHeaders): [string, unknown][] {
  if (!Array.isArray(given)) return Object.entries(given);
  if (Array.isArray(given[0])) return given as [string, unknown][];
  return Array.from({ length: Math.floor(given.length / 2) }, (_, i) => [
    String(given[2 * i]),
    given[2 * i + 1],
  ]);
}

/** A value as one text; several are joined to a list. */
export function valueText(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : String((value as string | undefined) ?? '');
}

/** Names and values as pairs; empty if none were passed. */
export function headerPairs(args: readonly unknown[]): [string, unknown][] {
  const given = args[headersIndex(args)];
  return isHeaders(given) ? pairsOf(given) : [];
}

/** The arguments with these headers instead, in the form in which headers were passed. */
export function withHeaders(
  args: readonly unknown[],
  pairs: readonly (readonly [string, unknown])[],
): unknown[] {
  const index = headersIndex(args);
  const given = args[index];
  const headers = Array.isArray(given) && !Array.isArray(given[0]) ? pairs.flat() : Object.fromEntries(pairs);
  return args.map((arg, at) => (at === index ? headers : arg));
}
