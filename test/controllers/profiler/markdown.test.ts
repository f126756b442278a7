import { expect } from 'chai';
import { load } from 'cheerio';
import { marked } from 'marked';
import { openWorld } from '../../support/every-page.ts';
import { withPages } from '../../support/page-client.ts';
import { createPageFixture } from '../../support/page-fixture.ts';
import { HOSTILE, samplePanels, sampleRule } from '../../support/page-samples.ts';

/** Names of the elements that a renderer makes of it, without those that break a long value or fence it otherwise. */
function structure(markdown: string): string[] {
  const $ = load(marked.parse(markdown, { gfm: true, async: false }));
  return $('body *').toArray().map(({ name }) => name); // prettier-ignore
}

async function markdownOf(text: string, query = ''): Promise<string> {
  const world = await openWorld(text);
  try {
    return await world.get(`/_profiler/${world.token}.md${query}`);
  } finally {
    await world.close();
  }
}

describe('a profile as Markdown', () => {
  it('holds head, findings, and each panel with data', async () => {
    const $ = load(marked.parse(await markdownOf('word')));
    expect($('h1').text()).to.match(/^POST.*: 500 Internal Server Error$/);
    const titles = $('h2').toArray().map((title) => $(title).text()); // prettier-ignore
    expect(titles).to.include.members([
      'Findings',
      'Request',
      'Timeline',
      'Exception',
      'Logs',
      'Routing',
      'Database',
    ]);
    expect($('pre code.language-sql').length).to.be.above(0);
    expect($('td').toArray().map((cell) => $(cell).text())).to.include('Host'); // prettier-ignore
    expect($('h3').text()).to.not.include('Request as HTTP');
    expect($('p').last().text()).to.match(/express 5\.1\.0 · Node 22\.11\.0/);
  });

  it('is short where that is asked for: what is wrong, with the code, and no stack', async () => {
    const text = await markdownOf('word', '?length=short');
    expect(text).to.have.length.below(8200);
    const titles = Array.from(text.matchAll(/^## (.*)$/gm), ([, title]) => title);
    expect(titles).to.include.members(['Error: failed word', 'Findings', 'Where the time went']);
    expect(titles.indexOf('Error: failed word')).to.be.below(titles.indexOf('Findings'));
    expect(text)
      .to.match(/^> *\d+ \| .*new Error/m)
      .and.not.match(/^ {4}at /m);
    expect(text).to.contain('How to fix it: ').and.contain('In full by panel: ');
    expect(await markdownOf('word', '?length=long')).to.contain('The filter "length"');
  });

  it('is one panel where one is asked for, with the line of the request', async () => {
    const text = await markdownOf('word', '?panel=exception');
    const $ = load(marked.parse(text));
    expect($('h2').toArray().map((title) => $(title).text())).to.deep.equal(['Exception']); // prettier-ignore
    expect($('h3').first().text()).to.equal('Error: failed word');
    expect($('pre').first().text()).to.match(/^> *\d+ \| .*new Error/m);
    expect($('pre').eq(1).text()).to.match(/^Error: failed word\n {4}at /);
    expect(text).to.include('500 Internal Server Error').and.to.include('Node 22.11.0');
  });

  for (const [name, text] of Object.entries(HOSTILE).filter(([kind]) => kind !== 'endless')) {
    it(`is no markup of what was recorded: ${name}`, async () => {
      const made = structure(await markdownOf(text));
      expect(made).to.not.include.members(['a']);
      for (const element of ['a', 'img', 'script', 'textarea', 'br']) expect(made).to.not.include(element);
      const twin = structure(await markdownOf('word'));
      const count = (elements: string[], wanted: string): number =>
        elements.filter((element) => element === wanted).length;
      for (const element of ['h1', 'h2', 'h3', 'table', 'ul', 'hr'])
        expect(count(made, element), element).to.equal(count(twin, element));
      const short = structure(await markdownOf(text, '?length=short'));
      // The line of ours with the address of the page.
      expect(count(short, 'a')).to.equal(1);
      for (const element of ['img', 'script', 'textarea', 'br']) expect(short).to.not.include(element);
    });
  }

  it('stays within bounds', async () => {
    expect(Buffer.byteLength(await markdownOf(HOSTILE.endless, '?length=short'))).to.be.below(20_000);
    expect(Buffer.byteLength(await markdownOf(HOSTILE.endless))).to.be.below(400_000);
  });

  it('is answered as Markdown, with the headers of every page, also to HEAD', async () => {
    const fixture = createPageFixture(samplePanels(), { rules: [sampleRule] });
    const { token } = await fixture.record();
    await withPages(fixture.pages, async ({ address }) => {
      for (const method of ['GET', 'HEAD']) {
        const response = await fetch(`${address}/_profiler/${token}.md?panel=request`, { method });
        expect(response.status).to.equal(200);
        expect(response.headers.get('content-type')).to.equal('text/markdown; charset=UTF-8');
        expect(response.headers.get('x-content-type-options')).to.equal('nosniff');
        expect(response.headers.get('content-security-policy')).to.include("default-src 'none'");
      }
    });
  });

  it('is refused for an unknown token or panel, and for a panel given twice', async () => {
    const fixture = createPageFixture(samplePanels(), { rules: [sampleRule] });
    const { token } = await fixture.record();
    await withPages(fixture.pages, async ({ address }) => {
      const status = async (path: string): Promise<number> => (await fetch(address + path)).status;
      expect(await status('/_profiler/ffffff.md')).to.equal(404);
      expect(await status(`/_profiler/${token}.md?panel=nosuch`)).to.equal(404);
      expect(await status(`/_profiler/${token}.md?panel=`)).to.equal(404);
      expect(await status(`/_profiler/${token}.md?panel=request&panel=logs`)).to.equal(400);
      expect(await status(`/_profiler/${token}.md?panel[]=request`)).to.equal(400);
    });
  });

  it('shows the data of a panel that presents no rows, or fails to', async () => {
    const data = { reads: [{ key: 'a', ms: 1 }] };
    const fixture = createPageFixture([
      { name: 'cache', title: 'Cache', collect: () => data },
      {
        name: 'broken',
        title: 'Broken',
        collect: () => data,
        rows: () => {
          throw new Error('no');
        },
      },
      {
        name: 'own',
        title: 'Own',
        collect: () => data,
        rows: ({ reads }: typeof data) => ({
          figures: [{ label: 'Reads', value: reads.length }],
          sections: [],
        }),
      },
    ] as Parameters<typeof createPageFixture>[0]);
    const { token } = await fixture.record();
    await withPages(fixture.pages, async ({ address }) => {
      const text = await (await fetch(`${address}/_profiler/${token}.md`)).text();
      expect(text.match(/\| Key \| Ms \|/g)).to.have.length(2);
      expect(text).to.include('## Own\n\nReads: 1');
    });
  });
});
