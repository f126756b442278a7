/** The attributes of a start tag, as the HTML standard reads them, from the text between its name and its `>`. */

const ATTRIBUTE = /[\s/]*([^\s/>][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>][^\s>]*))?)?/gy;
const REFERENCE =
  /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(amp|quot|apos|lt|gt|colon|sol|semi|nbsp|Tab|NewLine));?/gi;
const NAMED: Readonly<Record<string, string>> = {
  amp: '&', quot: '"', apos: "'", lt: '<', gt: '>', colon: ':', sol: '/', semi: ';', nbsp: ' ', tab: '\t', newline: '\n',
}; // prettier-ignore

function character(code: number): string {
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
}

/** Character references that a policy or an address may be written with. */
function decode(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(REFERENCE, (_whole, hex?: string, decimal?: string, name?: string) => {
    if (hex !== undefined) return character(parseInt(hex, 16));
    if (decimal !== undefined) return character(Number(decimal));
    return NAMED[(name ?? '').toLowerCase()] ?? '';
  });
}

/** By their names in lower case; of several of one name the first counts. */
export function attributesOf(text: string): Map<string, string> {
  const attributes = new Map<string, string>();
  ATTRIBUTE.lastIndex = 0;
  for (const [, name = '', double, single, bare] of text.matchAll(ATTRIBUTE)) {
    const key = name.toLowerCase();
    if (!attributes.has(key)) attributes.set(key, decode(double ?? single ?? bare ?? ''));
  }
  return attributes;
}
