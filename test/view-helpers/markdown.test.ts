import { expect } from 'chai';
import { load } from 'cheerio';
import { marked } from 'marked';
import { rowsMarkdown } from '../../app/render/rows-markdown.ts';
import { rowsOfData } from '../../app/render/present-panel.ts';
import { code, fence, heading, pairs, prose, table } from '../../app/view-helpers/markdown.ts';

/** As a renderer shows it, with all that it makes of Markdown by itself. */
function rendered(markdown: string): ReturnType<typeof load> {
  return load(marked.parse(markdown, { gfm: true, async: false, mangle: false, headerIds: false } as object));
}

/** Names of the elements in it, in order. */
function elements(markdown: string): string {
  const $ = rendered(markdown);
  return $('body *').toArray().map(({ name }) => name).join(' '); // prettier-ignore
}

const HOSTILE = [
  '<script>alert(1)</script>',
  '<!-- x',
  '[link](https://evil.example)',
  '![image](https://evil.example/x.png)',
  'https://evil.example/?a=b',
  'www.evil.example',
  'mail ada@evil.example',
  '# heading',
  '> quote',
  '- item',
  '1. item',
  '---',
  '===',
  '***bold*** __bold__ ~~gone~~',
  '`code` ``more`` ```',
  '```\nfence\n```',
  '~~~~',
  'a | b || c \\| d \\\\| e',
  'trailing \\',
  '&lt;b&gt; &#60;b&#62;',
  '\n\n# after a break\r\n| a |\r\n| - |',
  '[ref]: https://evil.example',
  '<https://evil.example>',
  '    indented',
  '\u202eturned\u2066 \u0000 \ud800',
  '`'.repeat(50),
];

describe('Markdown of recorded text', () => {
  for (const text of HOSTILE) {
    it(`has the structure of a harmless value: ${JSON.stringify(text).slice(0, 50)}`, () => {
      const plain = (value: string): string => table([{ title: 'A', value: (row: string) => row }, { title: 'B', value: () => 'b' }], [value, 'x']); // prettier-ignore
      expect(elements(plain(text)), 'cell').to.equal(elements(plain('x')));
      expect(elements(`A ${code(text)} z`), 'code').to.match(/^p( code)?$/);
      expect(elements(fence(text)), 'fence').to.equal('pre code');
      expect(elements(`${prose(text)} z`), 'prose').to.match(/^p( code)*$/);
      expect(elements(`- ${prose(text)}`), 'item').to.match(/^ul li( code)*$/);
      expect(elements(heading(3, text)), 'heading').to.match(/^h3( code)*$/);
      expect(elements(pairs([[text, text]])), 'pairs').to.equal(elements(pairs([['x', 'x']])));
    });
  }

  it('keeps the punctuation behind a place out of its code', () => {
    expect(prose('No route found for "GET /book/7"')).to.equal('No route found for "GET `/book/7`"');
    expect(prose('held by GET /a (2, src/a.ts:4, not released).')).to.equal(
      'held by GET `/a` (2, `src/a.ts:4`, not released).',
    );
    expect(prose('at src/a.ts:4).')).to.equal('at `src/a.ts:4`).');
    expect(prose('held (src/a.ts:9) by “/b”, load(a.b).')).to.equal(
      'held (`src/a.ts:9`) by “`/b`”, `load(a.b)`.',
    );
  });

  it('leaves a name with an underscore as it is', () => {
    expect(prose('asks for issued_at of _b_')).to.equal('asks for issued_at of \\_b\\_');
    expect(prose('Brandt & Sohn: <0.1 ms, &lt; <b'), 'only what is markup').to.equal(
      'Brandt & Sohn: <0.1 ms, \\&lt; \\<b',
    );
  });

  it('is shown as it was, where it can be', () => {
    const shown = (markdown: string): string => rendered(markdown)('body').text().trim();
    for (const text of [
      'a | b',
      '`x`',
      '<b>',
      'it’s *not* [bold]',
      'src/a_b.ts:1',
      'a_b_c',
      '_a_ b_',
      '&amp;',
      'a\\b',
    ]) {
      expect(shown(code(text)), text).to.equal(text);
      expect(shown(prose(text)), text).to.equal(text);
      expect(
        rendered(pairs([['n', text]]))('td')
          .eq(1)
          .text(),
        text,
      ).to.equal(text);
    }
    expect(shown(fence('one\n```\ntwo'))).to.equal('one\n```\ntwo');
  });

  it('makes visible what can not be seen', () => {
    expect(code('a\u0000b\u202ec')).to.equal('`a␀b‹U+202E›c`');
    expect(fence('a\u001b[31m\r\nb')).to.equal('```\na␛[31m\nb\n```');
  });

  it('is cut, and says by how much', () => {
    expect(code('x'.repeat(820))).to.match(/… \(100 more characters\)`$/);
    expect(fence('x'.repeat(13_000))).to.match(/1000 more characters left out\.$/);
    expect(
      table(
        [{ title: 'A', value: String }],
        Array.from({ length: 250 }, (_, index) => index),
      ),
    ).to.match(/\n50 more rows left out\.$/);
  });
});

describe('Markdown of data', () => {
  const ofData = (data: unknown): string => rowsMarkdown(rowsOfData(data));

  it('is a table for names and values, for lists of flat objects, JSON for what is nested', () => {
    const $ = rendered(
      ofData({
        hitCount: 3,
        nothing: null,
        misses: [
          { key: 'a', ms: 1, tags: ['x'] },
          { key: 'b', ms: 2 },
        ],
        names: ['one', 'two'],
        tree: { deep: { deeper: { deepest: 'x'.repeat(200) } } },
        empty: [],
      }),
    );
    expect($('h3').toArray().map((title) => $(title).text())).to.deep.equal(['Data', 'Misses', 'Names', 'Tree']); // prettier-ignore
    expect($('table').first().find('td').toArray().map((cell) => $(cell).text())).to.deep.equal(['Hit count', '3']); // prettier-ignore
    expect($('table').eq(1).find('th').toArray().map((cell) => $(cell).text())).to.deep.equal(['Key', 'Ms', 'Tags']); // prettier-ignore
    expect($('table').eq(2).find('td').length).to.equal(2);
    expect($('pre').text()).to.include('"deepest"');
  });

  it('is something for whatever a panel may hold', () => {
    for (const data of [null, 1, 'text', [], {}, [[1], { a: 1 }], { a: { b: [] } }])
      expect(ofData(data)).to.be.a('string');
  });
});
