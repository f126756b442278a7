/** What is passed for a parameter of a function at the left margin, such as the factory of a router: found in the text of both. */

interface Parameter {
  /** The function; empty: a default export without a name. */
  of: string;
  at: number;
  /** In an object. */
  key: string | null;
}

const MOST_LINES = 12;
/** Of a minified file, a line may have all of it. */
const LONGEST = 4000;
const BEGINS = /^(?:export|module|exports|async|function|const|let|var)\b/;
const TAKES =
  /^(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:function\*?\s*([\w$]*)|(?:const|let|var)\s+([\w$]+)\s*=[^(]*|(?:module\.)?exports\.?([\w$]*)\s*=[^(]*)\(/;

function textFrom(lines: readonly string[], index: number): string {
  return lines
    .slice(index, index + MOST_LINES)
    .join(' ')
    .slice(0, LONGEST);
}

/** The items of a list, from behind its opening bracket. */
function itemsOf(text: string): string[] {
  const items = [''];
  let depth = 0;
  for (const character of text) {
    if (')]}'.includes(character) && depth-- === 0) break;
    if ('([{'.includes(character)) depth++;
    if (character === ',' && depth === 0) items.push('');
    else items.push(`${items.pop()}${character}`);
  }
  return items.map((item) => item.trim());
}

function isNamed(item: string, name: string): boolean {
  return /^[\w$]+/.exec(item)?.[0] === name;
}

/** How the function around a line takes it; null: it is no parameter. */
export function parameterAt(lines: readonly string[], index: number, name: string): Parameter | null {
  const first = lines.findLastIndex((line, at) => at <= index && BEGINS.test(line));
  const text = textFrom(lines, first);
  const [head = '', ...names] = TAKES.exec(text) ?? [];
  const of = names.find(Boolean) ?? '';
  const items = head === '' ? [] : itemsOf(text.slice(head.length));
  for (const [at, item] of items.entries()) {
    if (isNamed(item, name)) return { of, at, key: null };
    if (item.startsWith('{') && itemsOf(item.slice(1)).some((one) => isNamed(one, name)))
      return { of, at, key: name };
  }
  return null;
}

/** The expression that the first call of a function passes for it. */
export function argumentIn(
  lines: readonly string[],
  called: RegExp,
  { at, key }: Parameter,
): { index: number; text: string } | null {
  const index = lines.findIndex((line) => called.test(line));
  const text = textFrom(lines, index);
  const { 0: call = '', index: start = 0 } = called.exec(text) ?? {};
  const item = itemsOf(text.slice(start + call.length))[at] ?? '';
  if (index === -1 || (key !== null && !item.startsWith('{'))) return null;
  const passed = key === null ? item : itemsOf(item.slice(1)).find((one) => isNamed(one, key));
  return passed === undefined ? null : { index, text: passed.replace(/^[\w$]+\s*:\s*/, '') };
}
