import { expect } from 'chai';
import { type CheerioAPI, load } from 'cheerio';
import type { Context } from '../../../app/profiler/record/context.ts';
import type { FindingRule } from '../../../app/profiler/read/finding-rule.ts';
import type { Panel } from '../../../app/profiler/panel.ts';
import { everyPanel } from '../../support/every-page.ts';
import { addBusyPage, addCrowd, call, lasting, layer, log, query } from '../../support/observed-samples.ts';
import { servePages, usePagesEach } from '../../support/page-client.ts';
import { createPageFixture, type PageFixture, type Recorded } from '../../support/page-fixture.ts';

const SLOW = 'select * from "products" where "id" = $1 limit $2';

/** Finds what runs more than ten queries. */
const loops: FindingRule<{ loops: number }> = {
  name: 'loops',
  needs: ['loops'],
  labels: ['N+1'],
  why: 'It loops.',
  fix: 'Ask once.',
  find: ({ loops: count }) =>
    count > 10 ? [{ severity: 'bad', sentence: `${count} × the same`, panel: 'database', anchor: 'g1' }] : [],
};
/** Finds a block, at another line if it is seen better. */
const blocks: FindingRule<{ loops: number }> = {
  name: 'blocks',
  needs: ['loops'],
  labels: ['loop blocked'],
  why: 'It blocks.',
  fix: 'Wait.',
  find: ({ loops: count }) =>
    count === 8 || count === 9
      ? [{ severity: 'warn', sentence: `Blocked in ${count}`, panel: 'runtime', place: `app.js:${count}` }]
      : [],
};
const loopsPanel: Panel<number> = {
  name: 'loops',
  title: 'Loops',
  collect: (context) => context.all('query').length,
};

describe('the comparison of two profiles', () => {
  let fixture: PageFixture;
  const server = usePagesEach(
    () => (fixture = createPageFixture([...everyPanel(), loopsPanel], { rules: [loops, blocks] })),
  );

  const get = (path: string): Promise<Response> => fetch(`${server.address}/_profiler/${path}`);
  async function page(path: string, status = 200): Promise<CheerioAPI> {
    const response = await get(path);
    expect(response.status, path).to.equal(status);
    return load(await response.text());
  }
  const record = (more: (context: Context) => void, given: Recorded = {}): Promise<Context> =>
    fixture.record({
      ...given,
      more: (context) => {
        context.add('route', {
          pattern: '/orders/:id',
          method: 'GET',
          params: {},
          handler: 'show',
          source: null,
        });
        more(context);
      },
    });

  it('takes a block that is put at another line for the same one', async () => {
    const [a, b] = await Promise.all(
      [8, 9].map((times) =>
        record((context) => {
          for (let index = 0; index < times; index++) context.add('query', query({ sql: SLOW }));
        }),
      ),
    );
    const $ = await page(`compare?a=${a?.token ?? ''}&b=${b?.token ?? ''}`);
    const found = $('#findings li:contains("Blocked in")');
    expect(found.text()).to.include('in both');
    expect(found).to.have.length(1);
  });

  it('compares what browsers measured, where they did', async () => {
    const [a, b, c] = [
      await record(() => undefined),
      await record(() => undefined),
      await record(() => undefined),
    ];
    await fixture.profiles.amend(a.token, 'timing', {
      ttfb: 80,
      load: 400,
      longTasks: [{ start: 1, duration: 60 }],
    });
    await fixture.profiles.amend(b.token, 'timing', { ttfb: 120, load: 300 });
    const figures = async (one: Context, other: Context): Promise<unknown[]> => {
      const compared = (await (await get(`compare.json?a=${one.token}&b=${other.token}`)).json()) as {
        figures: { label: string; a: number | null; b: number | null; tone: string }[];
      };
      return compared.figures
        .filter(({ label }) => label.startsWith('In the browser'))
        .map((figure) => [figure.label, figure.a, figure.b, figure.tone]);
    };
    expect(await figures(a, b)).to.deep.equal([
      ['In the browser: first byte', 80, 120, 'bad'],
      ['In the browser: loaded', 400, 300, 'good'],
    ]);
    expect(await figures(a, c)).to.deep.equal([
      ['In the browser: first byte', 80, null, 'plain'],
      ['In the browser: loaded', 400, null, 'plain'],
    ]);
    expect(await figures(c, await record(() => undefined))).to.deep.equal([]);
  });

  /** `times` reads of a product, 5 ms each, in a request of `ms`. */
  const reading = (times: number, ms: number) => (context: Context) => {
    lasting(context, ms);
    for (let i = 0; i < times; i++)
      context.add('query', query({ sql: SLOW, bindings: [i, 1], startMs: 10 * i, durationMs: 5, waitMs: 0 }));
  };
  async function compared(
    a: (context: Context) => void,
    b: (context: Context) => void,
    given: [Recorded, Recorded] = [{}, {}],
  ): Promise<CheerioAPI> {
    const [left, right] = [await record(a, given[0]), await record(b, given[1])];
    return page(`compare?a=${left.token}&b=${right.token}`);
  }
  const figure = ($: CheerioAPI, name: string): string =>
    $('#figures tbody tr')
      .filter((_i, row) => $(row).children().first().text() === name)
      .find('td')
      .slice(1)
      .map((_i, cell) => $(cell).text())
      .get()
      .join(' | ');

  it('says in a sentence how much longer, and where the time went', async () => {
    const $ = await compared(reading(2, 50), reading(20, 225));
    expect($('#summary').text()).to.match(
      /^B took 175\.0 ms longer \(4\.5 times as long\): 90\.0 ms in 18 more queries, 85\.0 ms in your code\.$/,
    );
  });

  it('says what took less in return', async () => {
    const calling = (context: Context): void => {
      reading(1, 100)(context);
      context.add('call', call({ startMs: 20, durationMs: 60, connection: null }));
    };
    const $ = await compared(calling, reading(16, 160));
    expect($('#summary').text()).to.equal(
      'B took 60.0 ms longer (60 %): 75.0 ms in 15 more queries, 45.0 ms in your code, but 60.0 ms less in outgoing calls.',
    );
  });

  it('calls less than a tenth about as long', async () => {
    const $ = await compared(reading(2, 100), reading(2, 104));
    expect($('#summary').text()).to.equal('B took about as long as A (4.0 ms longer).');
  });

  it('says what was answered otherwise', async () => {
    const $ = await compared(reading(1, 10), reading(1, 10), [{}, { status: 500 }]);
    expect($('#summary').text()).to.contain('A responded 200, B 500.');
  });

  it('shows figures side by side, and colours none below a tenth', async () => {
    const $ = await compared(reading(10, 100), reading(9, 50));
    expect(figure($, 'Queries')).to.equal('10 | 9 | −1, −10 %');
    expect(figure($, 'Time')).to.equal('100.0 ms | 50.0 ms | −50.0 ms, −50 %');
    const better = $('#figures tr.on').toArray();
    expect(better.map((row) => $(row).children().first().text())).to.include('Time');
    const other = await compared(reading(20, 200), reading(19, 205));
    expect(other('#figures tr.on, #figures .bad')).to.have.length(0);
  });

  it('takes what was not recorded of a whole request for none', async () => {
    const $ = await compared(reading(0, 20), reading(3, 20));
    expect(figure($, 'Queries')).to.equal('0 | 3 | +3');
  });

  it('matches statements that differ only in values: only in one, more often, alike', async () => {
    const only = (sql: string) => (context: Context) => {
      reading(4, 60)(context);
      context.add('query', query({ sql, bindings: [1], durationMs: 8 }));
      context.add('query', query({ sql: 'select now()', bindings: [], durationMs: 1 }));
    };
    const $ = await compared(only('select 1 from a where id = $1'), (context) => {
      only('select 2 from b where id = $1')(context);
      context.add('query', query({ sql: SLOW, bindings: [77, 1], durationMs: 5 }));
    });
    const rows = $('table[aria-label=Statements] tbody tr')
      .map((_i, row) => {
        const cells = $(row).children();
        return [cells.eq(0), cells.eq(2), cells.eq(3)].map((cell) => cell.text()).join(' / ');
      })
      .get();
    expect(rows).to.have.members([
      'only A / 8.0 ms / –',
      'only B / – / 8.0 ms',
      'both / 4 × in 20.0 ms / 5 × in 25.0 ms',
    ]);
    const section = $('table[aria-label=Statements]').closest('section');
    expect(section.text()).to.contain('1 only in A, 1 only in B, 2 in both; 1 unchanged');
    const all = await page(($('main > .note a').attr('href') ?? '').slice(11));
    expect(all('table[aria-label=Statements] tbody tr')).to.have.length(4);
    expect(section.find('code .k').first().text()).to.equal('select');
  });

  it('puts the times of both under each other, also where one side has none', async () => {
    const one = (sql: string) => (context: Context) =>
      context.add('query', query({ sql, bindings: [], durationMs: 8 }));
    const $ = await compared(one('select 1 from a'), one('select 2 from b'));
    const cells = $('table[aria-label=Statements] td.num').map((_i, cell) => $(cell).text()).get(); // prettier-ignore
    expect(cells.sort()).to.deep.equal(['8.0 ms', '8.0 ms', '–', '–']);
  });

  it('matches log lines that differ only in numbers, calls without their query, and layers', async () => {
    const $ = await compared(
      (context) => {
        reading(1, 20)(context);
        context.add('log', log({ message: 'order 1 shown' }));
        context.add('call', call({ url: 'https://a.example/x?y=1', durationMs: 5 }));
      },
      (context) => {
        reading(1, 20)(context);
        context.add('log', log({ message: 'order 2 shown' }));
        context.add('log', log({ message: 'order 3 shown' }));
        context.add('call', call({ url: 'https://a.example/x?y=2', durationMs: 15 }));
      },
    );
    expect($('table[aria-label="Log lines"] tbody tr').text()).to.contain('both').and.to.contain('2 ×');
    expect($('table[aria-label="Outgoing calls"] tbody tr').text())
      .to.contain('https://a.example/x')
      .and.to.contain('15.0 ms');
    expect($('table[aria-label="Outgoing calls"] tbody tr')).to.have.length(1);
  });

  it('puts middleware last, whose times include all else', async () => {
    const slower = (ms: number) => (context: Context) => {
      context.add('layer', layer({ name: 'session', nextMs: ms * 10, durationMs: ms * 10 }));
      context.add('query', query({ sql: SLOW, bindings: [1, 1], durationMs: ms }));
    };
    const $ = await compared(slower(5), slower(50));
    const sections = $('table[aria-label]').map((_i, table) => $(table).attr('aria-label')).get(); // prettier-ignore
    expect(sections).to.include.members(['Statements', 'Middleware']);
    expect(sections.indexOf('Middleware')).to.be.above(sections.indexOf('Statements'));
  });

  it('lists headers that differ, and not those of each single request', async () => {
    const headers = (language: string, id: string): Recorded => ({
      headers: ['Host', 'shop.example.com', 'accept-LANGUAGE', language, 'X-Request-Id', id],
      responseHeaders: ['Content-Type', 'text/html', 'ETag', `"${id}"`, 'Date', id],
    });
    const $ = await compared(reading(1, 10), reading(1, 10), [headers('de', 'one'), headers('fr', 'two')]);
    const names = $('#values tbody tr')
      .map((_i, row) => $(row).children().eq(1).text())
      .get();
    expect(names).to.include.members(['accept-LANGUAGE', 'ETag']);
    expect(names).to.not.include.members(['X-Request-Id']);
    expect(names).to.not.include.members(['Date']);
    const row = $('#values tbody tr').filter((_i, one) => $(one).text().includes('accept-LANGUAGE'));
    expect([2, 3].map((at) => row.children().eq(at).text())).to.deep.equal(['de', 'fr']);
  });

  it('lists findings that only one has, with their proof', async () => {
    const plain = await record(reading(1, 20));
    const looped = await record(reading(20, 220));
    const $ = await page(`compare?a=${plain.token}&b=${looped.token}`);
    expect($('#findings li').first().text()).to.contain('N+1').and.to.contain('only in B');
    expect($('#findings a').first().attr('href')).to.match(
      new RegExp(`^/_profiler/${looped.token}\\?panel=database&open=`),
    );
    const swapped = await page(($('.actions a').first().attr('href') ?? '').slice(11));
    expect(swapped('#findings li').first().text()).to.contain('only in A');
    expect(swapped('.card').first().text()).to.contain(looped.token);
  });

  it('draws both on one scale, with attributes only', async () => {
    const $ = await compared(reading(2, 50), reading(10, 200));
    expect($('#scale').text()).to.contain('0 to 200.0 ms');
    const ends = $('.lane svg')
      .map((_i, svg) =>
        $(svg)
          .find('rect')
          .toArray()
          .map((rect) => parseFloat(rect.attribs.x ?? '') + parseFloat(rect.attribs.width ?? ''))
          .reduce((last, end) => Math.max(last, end), 0),
      )
      .get();
    expect(ends).to.deep.equal([25, 100]);
    expect(
      $('.lane')
        .toArray()
        .map((lane) => $(lane).find('rect.k-db').length > 0),
    ).to.deep.equal([true, true]);
    expect($('[style]')).to.have.length(0);
  });

  it('leads on to the newest of the same route, and to the form where there is none', async () => {
    const [a, b] = [await record(reading(1, 10)), await record(reading(1, 10))];
    const $ = await page(`compare?a=${a.token}&b=${b.token}`);
    const link = $('.actions a')
      .filter((_i, one) => $(one).text().includes('newest'))
      .attr('href');
    expect(link).to.equal(`/_profiler/compare?a=${b.token}&b=newest`);
    const led = await fetch(`${server.address}${link ?? ''}`, { redirect: 'manual' });
    expect([led.status, led.headers.get('location')]).to.deep.equal([
      302,
      `/_profiler/compare?a=${b.token}&b=${a.token}`,
    ]);
    const alone = await fixture.record({ url: '/alone', more: (context) => { context.add('route', { pattern: '/alone', method: 'GET', params: {}, handler: 'h', source: null }); } }); // prettier-ignore
    expect((await page(`compare?a=${alone.token}&b=newest`))('main').text()).to.contain(
      'No other request to its route is stored.',
    );
    expect((await get('compare?b=newest')).status).to.equal(200);
  });

  it('compares two heavy profiles in full', async () => {
    const crowd = (context: Context): void => {
      addCrowd(context, { queries: 200, lines: 500 });
    };
    const [a, b] = [await record(crowd), await record((context) => { addBusyPage(context); addCrowd(context, { queries: 190, lines: 400 }); })]; // prettier-ignore
    for (const query of ['', '&all=1']) {
      const html = await (await get(`compare?a=${a.token}&b=${b.token}${query}`)).text();
      expect(load(html)('#summary').text()).to.match(/^B took /);
    }
  });

  it('takes two boxes that were checked in a list', async () => {
    const [a, b] = [await record(reading(1, 10)), await record(reading(2, 20))];
    const $ = await page(`compare?t=${a.token}&t=${b.token}`);
    expect($('.ab .tag').text()).to.equal('AB');
    const one = await page(`compare?t=${a.token}`);
    expect(one('input[name=a]').attr('value')).to.equal(a.token);
    const c = await record(reading(3, 30));
    const three = await page(`compare?t=${c.token}&t=${b.token}&t=${a.token}`);
    expect(three('[role=status]').text()).to.equal('3 requests were selected. These are the newest two.');
    expect(three('#summary').length).to.equal(1);
  });

  it('asks for what is missing, by a form that needs no script', async () => {
    const empty = await page('compare');
    expect(empty('.empty').text()).to.contain('Nothing has been recorded yet.');
    const [a, b] = [await record(reading(1, 10)), await record(reading(2, 20))];
    const $ = await page('compare');
    expect($('form.filter').attr('action')).to.equal('/_profiler/compare');
    expect($('form.filter input').length).to.equal(2);
    const half = await page(`compare?a=${a.token}`);
    expect(half('input[name=a]').attr('value')).to.equal(a.token);
    // A phone shows no token, and a click anywhere on the row follows its URL.
    const links = half('tbody a').map((_i, link) => half(link).attr('href')).get(); // prettier-ignore
    expect(links).to.deep.equal(Array(2).fill(`/_profiler/compare?a=${a.token}&b=${b.token}`));
  });

  it('says which token is unknown, with the form', async () => {
    const { token } = await record(reading(1, 10));
    const $ = await page(`compare?a=${token}&b=abcdef`, 404);
    expect($('[role=status].warn').text()).to.contain('No profile with token abcdef.');
    expect($('input[name=b]').attr('value')).to.equal('abcdef');
    const same = await page(`compare?a=${token}&b=${token}`);
    expect(same('[role=status].warn').text()).to.contain('A and B are the same request');
  });

  it('answers 400 with the form and a sentence to what can’t be meant', async () => {
    const cases: [query: string, name: string][] = [
      ['a=xyz&b=abcdef', 'a'],
      ['a=abcdef&b=../etc', 'b'],
      ['t=zz', 't'],
      ['t=abcdef&a=abcdee', 't'],
      ['a=abcdef&a=abcdee', 'a'],
      ['a[]=abcdef', 'a'],
    ];
    for (const [query, name] of cases) {
      const $ = await page(`compare?${query}`, 400);
      expect($('[role=status].warn').text(), query).to.match(new RegExp(`^The filter "${name}" `));
      expect($('input[name=a]').length, query).to.equal(1);
    }
  });

  it('is given as JSON', async () => {
    const [a, b] = [await record(reading(1, 10)), await record(reading(2, 20))];
    const response = await get(`compare.json?a=${a.token}&b=${b.token}`);
    expect(response.headers.get('content-type')).to.equal('application/json; charset=utf-8');
    const body = (await response.json()) as Record<string, unknown> & { figures: { label: string }[] };
    expect(body).to.include({ version: 1, a: a.token, b: b.token });
    expect(body.figures.find(({ label }) => label === 'Queries')).to.include({
      a: 1,
      b: 2,
      change: 1,
      ratio: 1,
    });
    expect((await get(`compare.json?a=${a.token}`)).status).to.equal(400);
    expect((await get(`compare.json?a=${a.token}&b=${a.token}`)).status).to.equal(400);
    expect((await get(`compare.json?a=${a.token}&b=ffffff`)).status).to.equal(404);
  });

  it('is given as Markdown that recorded text can’t break out of', async () => {
    const odd = '`| <b>](x) @all';
    const [a, b] = [
      await record(reading(1, 10), { url: `/${odd}` }),
      await record((context) => {
        reading(2, 20)(context);
        context.add('log', log({ message: odd }));
      }),
    ];
    const response = await get(`compare.md?a=${a.token}&b=${b.token}`);
    expect(response.headers.get('content-type')).to.equal('text/markdown; charset=UTF-8');
    const text = await response.text();
    expect(text).to.match(/^## Two requests compared\n/);
    expect(text).to.contain('| `Queries` | 1 | 2 | +1, +100 % |');
    expect(text).to.contain('``GET /`| <b>](x) @all``');
    expect(text).to.match(/\| `only B` \| .*\| `–` \| `1 ×` \|/);
    expect((await get(`compare.md?a=${a.token}`)).status).to.equal(400);
  });

  it('shows the rest where a panel can’t be compared', async () => {
    const panels = [...everyPanel(), { name: 'odd', title: 'Odd', collect: () => 1, rows: () => { throw new Error('no'); } }]; // prettier-ignore
    const odd = createPageFixture(panels);
    const other = await servePages(odd.pages, { renderPage: odd.services.renderPage });
    try {
      const [a, b] = [await odd.record(), await odd.record()];
      const response = await fetch(`${other.address}/_profiler/compare?a=${a.token}&b=${b.token}`);
      expect(response.status).to.equal(200);
      expect(await response.text()).to.contain('Not compared, because another release recorded it: Odd');
    } finally {
      await other.close();
    }
  });
});
