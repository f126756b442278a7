import { expect } from 'chai';
import { load } from 'cheerio';
import { escapeHtml, SafeHtml } from '../../app/view-helpers/safe-html.ts';
import { createViewHelpers } from '../../app/view-helpers/index.ts';

const h = createViewHelpers({ assetUrl: (file) => `/assets/${file}` });
const text = (value: unknown): string => load(escapeHtml(value)).text();

describe('view helpers: numbers', () => {
  for (const [ms, shown] of [
    [0, '0.0 ms'],
    [0.002, '<0.1 ms'],
    [0.06, '0.1 ms'],
    [7.43, '7.4 ms'],
    [313.64, '313.6 ms'],
    [999.99, '1.00 s'],
    [2310, '2.31 s'],
    [60_000, '1 min'],
    [61_000, '1 min 1 s'],
    [7_200_000, '2 h'],
    [7_380_000, '2 h 3 min'],
    [-3, '-3.0 ms'],
  ] as const) {
    it(`shows ${ms} ms as ${shown}`, () => {
      expect(h.durationText(ms)).to.equal(shown);
      expect(text(h.duration(ms))).to.equal(shown);
    });
  }

  it('adds the day to a time that is not of today', () => {
    const noon = Date.UTC(2026, 10, 19, 12, 0, 5);
    expect(h.clockText(noon, Date.UTC(2026, 10, 19, 23))).to.equal('12:00:05');
    expect(h.clockText(noon, Date.UTC(2026, 10, 20, 1))).to.equal('19 Nov, 12:00:05');
  });

  it('names the class of a fault, and of a refusal the message alone', () => {
    expect(h.reason({ status: 500, error: 'TypeError: a is null' })).to.equal('TypeError: a is null');
    expect(h.reason({ status: null, error: 'TypeError: a is null' })).to.equal('TypeError: a is null');
    expect(h.reason({ status: 404, error: 'RouteNotFoundError: No route found' })).to.equal('No route found');
    expect(h.reason({ status: 404, error: 'GET /x: none' })).to.equal('GET /x: none');
    expect(h.reason({ status: 404, error: null })).to.equal('');
  });

  it('shows bytes in powers of 1024', () => {
    expect([0, 1023, 1024, 18_432, 16 * 1024 * 1024].map(h.bytesText)).to.deep.equal([
      '0 B',
      '1,023 B',
      '1.0 KiB',
      '18.0 KiB',
      '16.0 MiB',
    ]);
  });

  it('groups digits and names what is counted', () => {
    expect(h.count(1_284_000)).to.equal('1,284,000');
    expect(h.count(1, 'row')).to.equal('1 row');
    expect(h.count(2, 'match', 'matches')).to.equal('2 matches');
  });

  it('shows a dash for what is no number', () => {
    for (const value of [null, undefined, NaN, Infinity]) {
      expect(text(h.duration(value)), String(value)).to.equal('–');
      expect(text(h.bytes(value)), String(value)).to.equal('–');
      expect(text(h.timestamp(value)), String(value)).to.equal('–');
      expect(h.count(value)).to.equal('–');
    }
    expect(text(h.time(9e15))).to.equal('–');
  });

  it('shows moments in UTC, readable by machines', () => {
    const at = Date.UTC(2026, 10, 20, 14, 32, 7, 214);
    expect(text(h.timestamp(at))).to.equal('20 Nov 2026, 14:32:07.214 UTC');
    expect(load(escapeHtml(h.time(at)))('time').attr('datetime')).to.equal('2026-11-20T14:32:07.214Z');
  });

  it('keeps lengths of drawings between 0 and 100 per cent', () => {
    expect([h.at(1, 4), h.at(5, 4), h.at(-1, 4), h.at(1, 0), h.at(NaN, 4)]).to.deep.equal([
      '25.00%',
      '100.00%',
      '0.00%',
      '0%',
      '0%',
    ]);
  });
});

describe('view helpers: foreign text', () => {
  it('escapes markup and shows control characters as pictures', () => {
    expect(escapeHtml(`<b title="x">'&'</b>\0\x1b\x7f`)).to.equal(
      '&lt;b title=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/b&gt;␀␛␡',
    );
  });

  it('makes characters visible that turn the writing direction', () => {
    expect(escapeHtml('a\u202eb\u2067c\u2069')).to.equal('a‹U+202E›b‹U+2067›c‹U+2069›');
    expect(escapeHtml('\u{e0049}\u009b31m')).to.equal('‹U+E0049›‹U+009B›31m');
  });

  it('replaces half characters', () => {
    expect(escapeHtml('a\ud800b')).to.equal('a\ufffdb');
  });

  it('lets SafeHtml pass, and nothing that only looks like it', () => {
    expect(escapeHtml(new SafeHtml('<b>'))).to.equal('<b>');
    expect(escapeHtml({ html: '<b>', toString: () => '<b>' })).to.equal('{&quot;html&quot;:&quot;&lt;b&gt;&quot;}');
    expect(escapeHtml(Object.create(SafeHtml.prototype))).to.equal('{}');
  });

  it('folds what is longer than 300 characters with its length', () => {
    const $ = load(escapeHtml(h.value('x'.repeat(10_000), { label: 'Whole value' })));
    expect($('details summary .say').text()).to.equal('10,000 characters');
    expect($('.long').text()).to.have.length(10_000);
    expect(load(escapeHtml(h.value('x'.repeat(300))))('details')).to.have.length(0);
  });

  it('marks what was masked', () => {
    const $ = load(escapeHtml(h.value('Bearer [masked 1, string]')));
    expect($('.mask').text()).to.equal('[masked 1, string]');
    expect($.text()).to.equal('Bearer [masked 1, string]');
  });

  it('shows values that are no text as JSON', () => {
    expect(text(h.value({ a: [1, null] }))).to.equal('{"a":[1,null]}');
    const long = { list: Array.from({ length: 35 }, (_unused, index) => index) };
    expect(text(h.value(long))).to.equal(JSON.stringify(long, null, 2));
    expect(text(h.value(0))).to.equal('0');
    expect(text(h.value(undefined))).to.equal('empty');
  });

  it('leaves of texts that differ in a few words only these', () => {
    expect(h.varying(['sold 3 of kettle', 'sold 12 of kettle'])).to.deep.equal(['3', '12']);
    expect(h.varying(['same', 'same'])).to.deep.equal(['', '']);
    expect(h.varying(['a b', 'a b c'])).to.deep.equal(['', 'c']);
  });
});

describe('view helpers: code', () => {
  it('numbers lines outside of their text', () => {
    const $ = load(escapeHtml(h.codeLines([{ text: 'a < b', number: 41 }, 'c'], { label: 'Source' })));
    expect($('pre > span').map((_i, line) => $(line).attr('data-n')).get()).to.deep.equal(['41', '2']);
    expect($('pre > span').map((_i, line) => $(line).text()).get()).to.deep.equal(['a < b', 'c']);
    expect($('pre').attr('aria-label')).to.equal('Source');
  });

  it('colours JSON without changing it', () => {
    const value = { name: 'a "quoted" <b>', count: -1.5e3, on: true, none: null, list: [] };
    const $ = load(escapeHtml(h.jsonText(JSON.stringify(value, null, 2), { label: 'x' })));
    const lines = $('pre > span').map((_i, line) => $(line).text()).get();
    expect(lines.join('\n')).to.equal(JSON.stringify(value, null, 2));
    expect($('.k').first().text()).to.equal('"name"');
  });

  it('colours a text that was cut as far as it goes', () => {
    const $ = load(escapeHtml(h.jsonText(JSON.stringify({ text: '"'.repeat(4000) }, null, 2), { label: 'x' })));
    const cut = $('pre > span').eq(1);
    expect(cut.text()).to.have.length(5000);
    expect(cut.find('.s').text()).to.equal(`"${'\\"'.repeat(4000)}`.slice(0, 5000 - '  "text": '.length));
  });

  it('cuts endless lines with a count', () => {
    const line = 'y'.repeat(6000);
    expect(text(h.codeLines([line], { label: 'x' }))).to.contain('1,000 more characters');
  });
});
