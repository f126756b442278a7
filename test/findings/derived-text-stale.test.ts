import { expect } from 'chai';
import { type AskedQuery, keptQueries, keptRequest } from '../support/kept-queries.ts';
import { draftsOf } from '../support/find-by-rule.ts';

describe('finding derived-text-stale', () => {
  const read = (row: object): AskedQuery => ({
    sql: `SELECT ${Object.keys(row)
      .map((name) => `"Place"."${name}" AS "Place_${name}"`)
      .join(', ')} FROM "places" "Place" WHERE "Place"."id" = $1`,
    bindings: { id: 1 },
    // As they are stored (app/panels/shared/found-rows.ts).
    found: [
      Object.fromEntries(
        Object.entries(row).map(([name, value]: [string, unknown]) => [
          `Place_${name}`,
          { as: true, name: `Place . ${name}`, value: value as never },
        ]),
      ),
    ],
  });
  const update = (set: Record<string, string>): AskedQuery => ({
    sql: `UPDATE "places" SET ${Object.keys(set)
      .map((name, at) => `"${name}" = $${at + 1}`)
      .join(', ')} WHERE "id" = $9`,
    bindings: [
      ...Object.entries(set),
      ...Array.from({ length: 8 - Object.keys(set).length }, () => ['$', 0] as const),
      ['id', 1],
    ],
    caller: 'src/places.js:18',
  });
  const old = { id: 1, name: 'Café Mäander', town: 'Görlitz', search_text: 'cafe maander gorlitz' };
  const moved = { ...old, town: 'Zittau', search_text: 'cafe maander zittau' };
  const renamed = { ...moved, name: 'Bistro Löwe' };
  const at = (startedAt: number, body: object, asked: readonly AskedQuery[], jobs = {}) => ({
    head: { token: `a${startedAt}`, method: 'PUT', url: `/places/${startedAt}`, startedAt },
    kept: { request: keptRequest({ body: body as never }), database: keptQueries(...asked), ...jobs },
  });
  const move = at(1, { town: 'Zittau' }, [
    read(old),
    update({ town: 'Zittau', search_text: 'cafe maander zittau' }),
  ]);
  const rename = at(2, { name: 'Bistro Löwe' }, [update({ name: 'Bistro Löwe' }), read(renamed)]);
  function found(own: ReturnType<typeof at>, siblings: readonly object[] = [move]) {
    return draftsOf('derived-text-stale', own.kept, own.head, { siblings });
  }
  const texts = (...given: Parameters<typeof found>): string[] =>
    found(...given).map(({ sentence }) => sentence);
  const of = (by: string): string =>
    `update places${by} (src/places.js:18) set name and not search_text, which PUT /places/1 (a1) had made of name and town: it is still “cafe maander zittau”`;

  it('names the update that left the text as it was', () => {
    const [finding] = found(rename);
    expect(finding?.sentence).to.equal(of(''));
    expect(finding).to.include({ place: 'src/places.js:18', anchor: 'q1', severity: 'bad' });
    expect(texts(at(3, {}, [read(renamed)]), [move, rename])).to.deep.equal([of(' of PUT /places/2 (a2)')]);
  });

  it('names it to the search that finds nothing', () => {
    const search = (text: string) =>
      at(3, {}, [
        { sql: 'select * from places where search_text like $1', bindings: { search_text: text }, rows: 0 },
      ]);
    expect(texts(search('%lowe%'), [rename, move])).to.deep.equal([
      `select … from places found no row by search_text: ${of(' of PUT /places/2 (a2)')}`,
    ]);
    expect(texts(search('%krone%'), [rename, move])).to.deep.equal([]);
  });

  it('takes what an INSERT made of its own values for a text to search by, and for no other', () => {
    const names = ['name', 'town', 'search_text'] as const;
    const insert = (column: string, body: object = {}) => [
      at(1, body, [
        {
          sql: `insert into places (name, town, ${column}) values ($1, $2, $3)`,
          bindings: [...names.map((name) => [name === 'search_text' ? column : name, moved[name]] as const)],
        },
      ]),
    ];
    expect(texts(rename, insert('search_text'))).to.have.length(1);
    const { search_text, ...rest } = renamed;
    const labelled = at(2, {}, [update({ name: 'Bistro Löwe' }), read({ ...rest, label: search_text })]);
    expect(texts(labelled, insert('label'))).to.deep.equal([]);
    expect(texts(rename, insert('search_text', { keywords: search_text })), 'received').to.deep.equal([]);
  });

  it('ignores texts that were renewed, received or stay on purpose', () => {
    const renewed = { ...renamed, search_text: 'bistro lowe zittau' };
    const both = update({ name: 'Bistro Löwe', search_text: 'bistro lowe zittau' });
    const job = { jobs: { items: [{}] } };
    const as = (column: string, own: object, text = moved.search_text) => {
      const { search_text: _text, ...rest } = { ...renamed, ...own };
      const before = at(1, {}, [read(old), update({ town: 'Zittau', [column]: text })]);
      return texts(at(2, {}, [update({ name: 'Bistro Löwe' }), read({ ...rest, [column]: text })]), [before]);
    };
    expect(as('label', {}), 'the control').to.have.length(1);
    for (const [why, all] of Object.entries({
      'set in the same statement': texts(at(2, {}, [both, read(renewed)])),
      'set by a trigger': texts(at(2, {}, [update({ name: 'Bistro Löwe' }), read(renewed)])),
      'a job may renew it': texts(at(2, {}, [update({ name: 'Bistro Löwe' }), read(renamed)], job)),
      'a slug': as('slug', {}, 'cafe-maander-zittau'),
      'the published title': as('title_shown', {}, 'Café Mäander'),
      'a word of one column': as('state', {}, 'zittau'),
      'with words of its own': as('label', {}, 'the cafe maander in zittau'),
      'another row': as('label', { id: 2 }),
      'nothing made it': texts(rename, []),
      'it still has the new words': as('label', { name: 'Mäander' }),
    }))
      expect(all, why).to.deep.equal([]);
  });
});
