import { expect } from 'chai';
import { createViewsPanel, type ViewRow } from '../../app/panels/views.ts';
import { Context } from '../../app/profiler/context.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { addBusyPage, view } from '../support/observed-samples.ts';
import { dataOf } from '../support/panel-data.ts';

const panel = createViewsPanel();

function collect(fill: (context: Context) => void) {
  const context = new Context({ token: '000001', kind: 'request' });
  fill(context);
  return dataOf(panel, context);
}

describe('the panel of views', () => {
  it('has nothing to say where nothing was rendered', () => {
    expect(collect(() => undefined)).to.equal(null);
  });

  it('tells what each template took without its partials', () => {
    const data = collect(addBusyPage);
    expect(data?.totals).to.deep.equal({ views: 4, templates: 4, durationMs: 18.2 });
    expect(data?.views.map(({ name, ownMs }) => `${name} ${ownMs ?? ''}`)).to.deep.equal([
      'orders/show 5.1',
      'partials/layout.ejs 2.6',
      'orders/_items.ejs 9.4',
      'orders/_totals.ejs 1.1',
    ]);
  });

  it('makes the same partial in a row one row', () => {
    const data = collect((context) => {
      context.add('view', view({}));
      for (let i = 0; i < 40; i++)
        context.add('view', view({ name: 'row.ejs', depth: 1, parent: 0, durationMs: 0.5 }));
    });
    const model = panel.present?.(data as never, { profile: {} as Profile, query: {} }) as {
      page: { rows: ViewRow[] };
    };
    expect(model.page.rows.map(({ count, sumMs }) => [count, sumMs])).to.deep.equal([
      [1, 18.2],
      [40, 20],
    ]);
  });

  it('is worried by a page that failed', () => {
    const data = collect((context) => {
      context.add('view', view({ durationMs: 150, error: 'x is not defined' }));
    });
    expect(panel.summary?.(data as never)?.tone).to.equal('bad');
  });
});
