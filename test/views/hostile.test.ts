/**
 * Hostile text in every field that a client or an application can fill gives pages of the same structure as its harmless
 * twin: the same elements with the same attributes, no more and no fewer. The pages are those of test/support/every-page.ts.
 */
import { expect } from 'chai';
import { load, type CheerioAPI } from 'cheerio';
import { everyPage, openWorld } from '../support/every-page.ts';
import { HOSTILE } from '../support/page-samples.ts';

/** Attributes whose value is a sentence, an address or a length, or a drawing that may come from foreign text. */
const FREE = new Set([
  'href', 'title', 'aria-label', 'aria-labelledby', 'value', 'datetime', 'width', 'x', 'id', 'action', 'data-fold', 'data-copy', 'data-filter', 'data-l',
  'src', 'for', 'd', 'data-live',
]); // prettier-ignore
/** Colours of code follow the text; what stands in code is looked at by itself. */
const CODE = 'pre *, .sql *, code *, .q > *';
const COLOURS = new Set(['span', 'u', 'bdi', 'mark']);

/** Elements in order, a line each, with their attributes. */
function structureOf($: CheerioAPI): string {
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

/** Text of the same length and the same words, without anything special. */
function twinOf(text: string): string {
  return text.replace(/[^A-Za-z0-9 ]/g, 'z');
}

/** Every page by its name. */
async function pagesOf(text: string): Promise<Map<string, string>> {
  const world = await openWorld(text);
  const pages = new Map<string, string>();
  try {
    for (const page of everyPage) pages.set(page.name, await page.html(world));
  } finally {
    await world.close();
  }
  return pages;
}

const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]/;

/** What is not endless stands together. */
const { endless, ...others } = HOSTILE;
const TEXTS = { endless, 'every other': Object.values(others).join(' ') };

describe('hostile text', () => {
  for (const [kind, text] of Object.entries(TEXTS)) {
    it(`makes no markup in any page, of kind "${kind}"`, async () => {
      const hostile = await pagesOf(text);
      // Endless text is its own twin: its pages are only free of what is forbidden.
      const twin = twinOf(text) === text ? hostile : await pagesOf(twinOf(text));
      for (const [name, html] of hostile) {
        expect(html.length, name).to.be.greaterThan(500);
        expect(html, name).to.not.contain('can&#39;t be shown').and.not.match(FORBIDDEN);
        if (twin === hostile) continue;
        const $ = load(html);
        expect($('img, script:not([src]), [onerror], iframe, [style]'), name).to.have.length(0);
        expect(structureOf($), name).to.equal(structureOf(load(twin.get(name) ?? '')));
      }
    });
  }
});
