/** Why a route did not match, in one sentence. Only texts are compared; no pattern is run again. */

/** A similar route, from the facts of `observe/layers/routing.ts`. */
export interface NearReason {
  method: string;
  reason: 'method' | 'slash' | 'mount' | 'case' | 'spelling';
  distance: number;
  pattern: string;
}

/** Segments compared; longer paths are not misspellings. */
const MOST_SEGMENTS = 40;
const LONGEST_WORD = 40;

function segmentsOf(path: string): string[] {
  return path
    .split('/')
    .filter((part) => part !== '')
    .slice(0, MOST_SEGMENTS);
}

function isPlaceholder(segment: string): boolean {
  return /[:*{(\\]/.test(segment);
}

/** A placeholder may accept less than its name shows: `/:id(\d+)`, `/files/*path`. */
function isConstrained(pattern: string): boolean {
  return /[*{(\\]/.test(pattern);
}

function word(segment: string): string {
  return segment.length > LONGEST_WORD ? `${segment.slice(0, LONGEST_WORD)}…` : segment;
}

function segments(count: number): string {
  return count === 1 ? 'one segment' : `${count === 0 ? 'no' : String(count)} segments`;
}

/** Why a path does not match a pattern; null if the texts show no difference. */
export function whyPathDiffers(pattern: string, path: string): string | null {
  if (pattern.startsWith('/') && /\/[dgimsuvy]*$/.test(pattern) && /[\\^$|]/.test(pattern))
    return 'the regular expression does not match';
  const wanted = segmentsOf(pattern);
  const given = segmentsOf(path);
  const open = wanted.some((segment) => /[*{]/.test(segment));
  for (const [index, segment] of wanted.entries()) {
    const sent = given[index];
    if (isPlaceholder(segment)) continue;
    if (sent === undefined) break;
    if (sent !== segment)
      return sent.toLowerCase() === segment.toLowerCase()
        ? `differs in upper and lower case: “${word(segment)}”`
        : `path differs at “${word(sent)}”`;
  }
  if (open) return 'path differs';
  if (wanted.length !== given.length)
    return `path has ${segments(given.length)}, the route has ${wanted.length === 0 ? 'none' : segments(wanted.length)}`;
  return pattern.endsWith('/') === path.endsWith('/') ? null : 'differs by the slash at the end';
}

export function whyMountDiffers(pattern: string): string {
  return `path does not begin with ${pattern}`;
}

export function whyRouteDiffers(
  methods: readonly string[],
  pattern: string,
  asked: { method: string; path: string },
  before: string | null = null,
): string {
  const path = whyPathDiffers(pattern, asked.path);
  if (path !== null) return path;
  const answers =
    methods.includes('*') ||
    methods.includes(asked.method) ||
    (asked.method === 'HEAD' && methods.includes('GET'));
  if (!answers) return `path matches, the method is ${asked.method}`;
  return isConstrained(pattern)
    ? 'path differs'
    : `path and method match, but ${before ?? 'it was not reached'}`;
}

function differingWord(pattern: string, path: string): readonly [string, string] | null {
  const wanted = segmentsOf(pattern);
  const given = segmentsOf(path);
  if (wanted.length !== given.length) return null;
  const at = wanted.flatMap((segment, index) =>
    isPlaceholder(segment) || segment === given[index] ? [] : [index],
  );
  const [only = -1] = at;
  return at.length === 1 ? [word(given[only] ?? ''), word(wanted[only] ?? '')] : null;
}

function mountReason(pattern: string, path: string): string {
  const wanted = segmentsOf(pattern);
  const given = segmentsOf(path);
  const count = Math.abs(wanted.length - given.length);
  const longer = wanted.length > given.length ? wanted : given;
  const before = word(`/${longer.slice(0, count).join('/')}`);
  return longer === wanted
    ? `same end, but mounted deeper: the path lacks “${before}”`
    : `same end, but the path has “${before}” before it`;
}

export function whyNear(
  { method, reason, distance, pattern }: NearReason,
  asked: { method: string; path: string },
): string {
  const other = method === '*' || method === asked.method ? '' : `; it is for ${method}, not ${asked.method}`;
  const words = differingWord(pattern, asked.path);
  const named = words === null ? '' : `: “${words[0]}” is not “${words[1]}”`;
  switch (reason) {
    case 'method':
      return `the path matches, the method is ${asked.method}`;
    case 'slash':
      return `differs by the slash at the end${other}`;
    case 'case':
      return `differs in upper and lower case${named}${other}`;
    case 'mount':
      return `${mountReason(pattern, asked.path)}${other}`;
    case 'spelling':
      return `${distance === 1 ? 'one letter differs' : `${distance} letters differ`}${named}${other}`;
  }
}
