import { expect } from 'chai';
import type { DatabaseData, KeptDatabase } from '../../app/panels/database/data.ts';
import type { drawQueries } from '../../app/panels/database/cards.ts';
import { foundRows } from '../../app/panels/shared/found-rows.ts';
import { createDatabasePanel } from '../../app/panels/database/index.ts';
import type { Context } from '../../app/profiler/record/context.ts';
import type { RecordReader } from '../../app/profiler/panel.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { type PageItem, rowsPage } from '../../app/render/rows-page.ts';
import { createRedactor } from '../../app/profiler/masking/redact.ts';
import { addBusyPage, query } from '../support/observed-samples.ts';
import { contextWith } from '../support/panel-data.ts';

const panel = createDatabasePanel();

function keep(fill: (context: Context) => void): KeptDatabase {
  const kept = panel.collect?.(contextWith(fill)) ?? null;
  if (kept === null) throw new Error('Nothing was collected.');
  return kept;
}

/** As pages see it. */
function collect(fill: (context: Context) => void): DatabaseData {
  const data = panel.data?.({ collected: keep(fill) } as RecordReader<KeptDatabase>) ?? null;
  if (data === null) throw new Error('Nothing was derived.');
  return data;
}

function itemsOf(data: DatabaseData, query: Record<string, string> = {}): readonly PageItem[] {
  const profile = { durationMs: 313.6, panels: {} } as unknown as Profile;
  const presented = panel.rows?.(data, { profile, amendments: {} }) ?? { sections: [] };
  const { sections } = rowsPage(presented, { page: { panel: 'database' }, query });
  return sections.find(({ id }) => id === 'queries')?.items ?? [];
}

function cardsOf(data: DatabaseData) {
  return (
    panel.view?.model?.(data, { profile: {} as Profile, query: {}, amendments: {} }) as ReturnType<
      typeof drawQueries
    >
  ).cards;
}

describe('the database panel', () => {
  it('stores no label that follows from a statement, as one character beyond Latin-1 doubles the time a document takes', () => {
    const fill = (context: Context): void => {
      addBusyPage(context);
      context.add('query', query({ sql: 'select * from users', label: 'User.findMany' }));
    };
    const { statements } = keep(fill);
    expect(JSON.stringify(statements)).to.match(/^[\0-\xff]{50,}$/);
    const labels = collect(fill).statements.map(({ label }) => label);
    expect(labels).to.include('User.findMany: select … from users');
    expect(labels.every((label) => label !== '')).to.equal(true);
  });

  it('shows no number of rows where none is known, as of a cursor', () => {
    const rowsShown = (rows: number | null) => {
      const data = collect((context) => context.add('query', query({ rows })));
      const profile = { durationMs: 9, panels: {} } as unknown as Profile;
      const { figures = [] } = panel.rows?.(data, { profile, amendments: {} }) ?? {};
      return figures.find(({ label }) => label === 'Rows read')?.value;
    };
    expect([null, 0, 2].map(rowsShown)).to.deep.equal([null, 0, 2]);
  });

  it('counts queries, statements, rows, waits and time that ran side by side once', () => {
    const { totals } = collect((context) => {
      context.add('query', query({ startMs: 0, durationMs: 10, bindings: [1] }));
      context.add(
        'query',
        query({ startMs: 5, durationMs: 10, bindings: [2], rows: null, connection: '__knexUid8' }),
      );
      context.add(
        'query',
        query({ sql: 'select 2', startMs: 30, durationMs: null, rows: 4, error: 'no', waitMs: 1 }),
      );
    });
    expect(totals).to.deep.equal({
      queries: 3, statements: 2, rows: 5, changed: 0, connections: 2, failed: 1,
    }); // prettier-ignore
  });

  it('counts rows read apart from rows changed, and says which waits are in no total', () => {
    const data = collect((context) => {
      context.add('query', query({ rows: 3, waitMs: 0.7 }));
      context.add('query', query({ sql: 'update claims set a = 1', rows: 2, waitMs: 0.1 }));
      context.add('query', query({ sql: 'show tables', rows: 4, waitMs: 0 }));
    });
    const profile = { durationMs: 9, panels: {} } as unknown as Profile;
    const { figures = [] } = panel.rows?.(data, { profile, amendments: {} }) ?? {};
    const shown = figures.filter(({ label }) => /^Rows|^Waiting/.test(label));
    expect(shown.map(({ label, value, note }) => [label, value, note])).to.deep.equal([
      ['Waiting for a connection', null, 'without 0.8 ms in 2 waits below 1.0 ms'],
      ['Rows read', 7, undefined],
      ['Rows changed', 2, undefined],
    ]);
  });

  it('calls no two statements of different lines a loop, nor two of one', () => {
    const data = collect((context) => {
      for (const line of [1, 2, 3])
        context.add('query', query({ bindings: [line], caller: `src/a.ts:${line}` }));
      for (const id of [1, 2]) context.add('query', query({ bindings: [id], caller: 'src/b.ts:1' }));
    });
    expect(data.groups).to.have.length(0);
  });

  it('tells writes in a loop, and reads that ask the same twice', () => {
    const data = collect((context) => {
      for (const id of [1, 2, 3])
        context.add('query', query({ sql: 'insert into a (b) values ($1)', bindings: [id] }));
      for (let i = 0; i < 2; i++)
        context.add('query', query({ sql: 'select * from settings', bindings: [] }));
    });
    expect(data.groups.map(({ kind }) => kind)).to.deep.equal(['loop', 'duplicate']);
  });

  it('masks values by the column they stand for, in whatever statement', () => {
    const data = collect((context) => {
      context.add('query', query({ sql: 'insert into u (email, password) values ($1, $2)', bindings: ['a@b.example', 'hunter22'] })); // prettier-ignore
      context.add(
        'query',
        query({ sql: 'select 1 from u where api_key = any($1)', bindings: [['abcdefgh1']] }),
      );
    });
    const stored = JSON.stringify(createRedactor().tree({ data }).value);
    expect(stored).to.contain('a@b.example');
    expect(stored).not.to.contain('hunter22');
    expect(stored).not.to.contain('abcdefgh1');
  });

  it('masks values of placeholders with a name by their column, and those after a key by the key', () => {
    const data = collect((context) => {
      const sqls = [
        'update u set password = :p, city = :c where id = :i',
        "select set_config('app.token', $1, true), $2::text",
        "update u set data = jsonb_set(data, '{password}', $1) where city = $2",
        'select json_object("password", ?), ?',
      ];
      for (const sql of sqls) context.add('query', query({ sql, bindings: ['hunter22', 'Oslo'] }));
      context.add(
        'query',
        query({ sql: 'select 1 from u where ?? = ?', bindings: ['password', 'hunter22'] }),
      );
    });
    const { value } = createRedactor().tree({ data });
    expect(JSON.stringify(value)).not.to.contain('hunter22');
    for (const { bindings } of value.data.queries.slice(0, -1)) expect(bindings[1]?.value).to.equal('Oslo');
    expect(value.data.queries.map(({ bindings }) => bindings[0]?.name)).to.deep.equal([
      'p',
      '$1',
      '$1',
      '$1',
      '$1',
    ]);
  });

  it('masks the rows that a statement returned by their columns, also under other names', () => {
    const found = { id: 7, p: 'hunter22', pin: 4711, t: 'abcdefgh1', city: 'Oslo' };
    const data = collect((context) => {
      context.add('query', query({ sql: "select id, password as p, pin, encode(api_token, 'hex') t, city from u", found: [found] })); // prettier-ignore
      context.add('query', query({ sql: 'select p from (select password as p from u) s', found: [{ p: 'hunter23' }] })); // prettier-ignore
    });
    const { value } = createRedactor().tree({ data });
    const stored = JSON.stringify(value);
    for (const secret of ['hunter22', 'hunter23', '4711', 'abcdefgh1']) expect(stored).not.to.contain(secret);
    const [first] = value.data.queries;
    expect(first === undefined ? [] : foundRows(first)[0]).to.include({ id: 7, city: 'Oslo' });
  });

  it('shows a loop as one row, or each query, slowest first', () => {
    const data = collect(addBusyPage);
    const counts = itemsOf(data).map(({ members }) => members.length);
    expect(counts).to.deep.equal([0, 0, 0, 0, 18, 0, 0]);
    const bySlowest = itemsOf(data, { order: 'largest' });
    expect(bySlowest).to.have.length(24);
    const times = bySlowest.map(({ row }) => row.number ?? 0);
    expect(times).to.deep.equal(times.toSorted((a, b) => b - a));
  });

  it('tells what differs in a loop and which one read may stand for it', () => {
    const [card] = cardsOf(collect(addBusyPage));
    expect(card?.differs).to.deep.equal(['id']);
    const text = (card?.instead ?? [])
      .map(({ tokens }) => tokens.map(([, part]) => part).join(''))
      .join('\n');
    expect(text).to.equal('select *\nfrom products\nwhere id = any($1)  -- 18 values');
  });
});
