import { expect } from 'chai';
import { timelinePanel } from '../../app/panels/timeline/index.ts';
import type { ViewsData } from '../../app/panels/views/data.ts';
import { viewsPanel } from '../../app/panels/views/index.ts';
import { presentViews } from '../../app/panels/views/present.ts';
import { Context } from '../../app/profiler/record/context.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import type { Detail, Presentation, Row } from '../../app/profiler/read/rows.ts';
import { rowsPage } from '../../app/render/rows-page.ts';
import { addBusyPage, lasting, view } from '../support/observed-samples.ts';
import { profileOf, summaryOf } from '../support/panel-data.ts';

const panel = viewsPanel;

function recorded(fill: (context: Context) => void): Profile {
  const context = new Context({ token: '000001', kind: 'request' });
  lasting(context, 400);
  fill(context);
  return profileOf(context, [panel, timelinePanel]);
}

function collect(fill: (context: Context) => void): ViewsData {
  return recorded(fill).panels.views?.data as ViewsData;
}

function present(profile: Profile): Presentation {
  return presentViews(profile.panels.views?.data as ViewsData, { profile });
}

function rowsOf(profile: Profile, id: string): readonly Row[] {
  return present(profile).sections.find((section) => section.id === id)?.rows ?? [];
}

describe('the panel of views', () => {
  it('tells what each template took without its partials', () => {
    const profile = recorded(addBusyPage);
    expect(profile.panels.views?.data).to.deep.include({
      totals: { views: 4, templates: 4, engines: ['ejs'] },
    });
    expect(rowsOf(profile, 'views').map(({ text, number }) => [text, number])).to.deep.equal([
      ['orders/show', 5.1],
      ['partials/layout.ejs', 2.6],
      ['orders/_items.ejs', 9.4],
      ['orders/_totals.ejs', 1.1],
    ]);
  });

  it('makes the same partial in a row one row', () => {
    const profile = recorded((context) => {
      context.add('view', view({ startMs: 10, durationMs: 20 }));
      for (let i = 0; i < 40; i++)
        context.add('view', view({ name: 'row.ejs', depth: 1, parent: 0, startMs: 10 + i / 2, durationMs: 0.5 })); // prettier-ignore
    });
    const { sections } = rowsPage(present(profile), { page: { panel: 'views' }, query: {} });
    expect(
      sections[0]?.items.map(({ row, members }) => [row.times ?? 1, row.number, members.length]),
    ).to.deep.equal([
      [1, 0, 0],
      [40, 20, 40],
    ]);
  });

  it('is worried by a page that failed', () => {
    const data = collect((context) => {
      context.add('view', view({ durationMs: 150, error: 'x is not defined' }));
    });
    expect(summaryOf(panel, data as never)?.tone).to.equal('bad');
  });

  it('adds up the renders of each template, the costliest first', () => {
    const profile = recorded((context) => {
      context.add('view', view({ startMs: 10, durationMs: 10 }));
      for (let i = 0; i < 3; i++) {
        const startMs = 10 + 2 * i;
        context.add('view', view({ name: 'a.ejs', file: '/v/a.ejs', depth: 1, parent: 0, startMs, durationMs: 0.5 })); // prettier-ignore
        context.add('view', view({ name: 'b.ejs', file: '/v/b.ejs', depth: 1, parent: 0, startMs: startMs + 1, durationMs: 1 })); // prettier-ignore
      }
    });
    const { sections } = rowsPage(present(profile), { page: { panel: 'views' }, query: {} });
    expect(sections[0]?.items, 'they alternate').to.have.length(7);
    expect(
      rowsOf(profile, 'templates').map(({ text, number, fields = [] }) => [
        text,
        number,
        ...fields.map(({ value }) => value),
      ]),
    ).to.deep.equal([
      ['orders/show', 5.5, 1, 10, 10],
      ['b.ejs', 3, 3, 3, 1],
      ['a.ejs', 1.5, 3, 1.5, 0.5],
    ]);
    expect(rowsOf(recorded(addBusyPage), 'templates'), 'nothing to add up').to.deep.equal([]);
  });

  it('ties an error of a template to its line', () => {
    const error = [
      '/app/views/orders/show.ejs:12',
      '    10| <ul>',
      '    11|',
      ' >> 12|   <li><%= missing.name %></li>',
      '    13| </ul>',
      '',
      'missing is not defined',
    ].join('\n');
    const detailOf = (text: string): readonly Detail[] | undefined =>
      rowsOf(
        recorded((context) => void context.add('view', view({ error: text }))),
        'views',
      )[0]?.detail?.();
    const [detail] = detailOf(error) ?? [];
    expect(detail?.title).to.equal('/app/views/orders/show.ejs:12');
    expect(detail?.note).to.equal('missing is not defined');
    expect(detail?.block?.lines?.filter(({ mark }) => mark === 'hot')).to.deep.equal([
      { number: 12, text: '  <li><%= missing.name %></li>', mark: 'hot' },
    ]);
    for (const other of ['plain', '', 'a:1', 'a:1\n\nb', '\n >> x|', 'x'.repeat(5000)])
      expect(detailOf(other)).to.equal(undefined);
  });

  it('names the engine by the file, else as the application was told', () => {
    const data = collect((context) => {
      context.add('view', view({ name: 'index', file: null, engine: 'pug' }));
      context.add('view', view({ name: 'mail.hbs', file: null, engine: 'pug' }));
      context.add('view', view({ engine: 'pug' }));
      context.add('view', view({ name: 'odd', file: null }));
    });
    expect(data?.views.map(({ engine }) => engine)).to.deep.equal(['pug', 'hbs', 'ejs', null]);
    expect(data?.totals.engines).to.deep.equal(['pug', 'hbs', 'ejs']);
  });
});
