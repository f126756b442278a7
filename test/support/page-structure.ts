/** What a page is made of, its foreign text left out: two pages that differ only in text have the same. */
import type { CheerioAPI } from 'cheerio';

/** Attributes whose value is a sentence, an address or a length, or a drawing that may come from foreign text. */
const FREE = new Set([
  'href', 'title', 'aria-label', 'aria-labelledby', 'value', 'datetime', 'width', 'x', 'id', 'action', 'data-fold', 'data-copy', 'data-filter', 'data-l',
  'src', 'for', 'd', 'data-live',
]); // prettier-ignore
/** Colours of code follow the text; what stands in code is looked at by itself. */
const CODE = 'pre *, .sql *, code *, .q > *';
const COLOURS = new Set(['span', 'u', 'bdi', 'mark']);

/** Elements in order, a line each, with their attributes. */
export function structureOf($: CheerioAPI): string {
  const code = new Set($.root().find(CODE).toArray());
  const found: string[] = [];
  for (const element of $.root().find('*').toArray()) {
    if (code.has(element) && COLOURS.has(element.name)) continue;
    const attributes = Object.entries(element.attribs).map(([name, value]) =>
      FREE.has(name) ? name : `${name}=${value}`,
    );
    found.push(`${element.name} ${attributes.sort().join(' ')}`);
  }
  return found.join('\n');
}
