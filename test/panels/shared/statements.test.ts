import { expect } from 'chai';
import { aboutStatement } from '../../../app/panels/shared/about-statement.ts';
import { sqlLines } from '../../../app/panels/shared/sql-lines.ts';
import { oneLine } from '../../../app/panels/database/statement-line.ts';
import { joinTokens, sqlTokens } from '../../../app/panels/shared/sql-tokens.ts';
import { bindingColumns, isRead, labelOf, shapeOf } from '../../../app/panels/shared/statements.ts';
import { isControl } from '../../../app/profiler/transaction-sql.ts';
import { cpuMsOf } from '../../support/waiting.ts';

function kinds(sql: string): string[] {
  return joinTokens(sqlTokens(sql)).map(([kind, text]) => `${kind}:${text.trim()}`);
}

describe('what is known of a statement', () => {
  it('is computed once, also of the 1,000 different ones of a request, of which each is asked for many times', () => {
    const texts = Array.from({ length: 1500 }, (_, at) => `select ${at} from users where id in (1, ${at})`);
    const known = texts.map((sql) => aboutStatement(sql));
    expect(texts.every((sql, at) => aboutStatement(sql) === known[at])).to.equal(true);
    expect(known[7]).to.include({ label: 'select … from users' });
    expect(known[7]?.read).to.equal(known[7]?.read).and.to.include({ verb: 'select' });
  });

  it('is forgotten, so that long texts fill no memory', () => {
    const first = aboutStatement('select 1');
    for (let at = 0; at < 60; at++) aboutStatement(`select ${at} -- ${'x'.repeat(20_000)}`);
    expect(aboutStatement('select 1')).to.not.equal(first);
  });
});

describe('statements of MySQL', () => {
  it('leaves out columns of a long line, not the conditions after them', () => {
    const line = (sql: string): string =>
      oneLine(sql, undefined)
        .map(([, text]) => text)
        .join('');
    const columns = Array.from({ length: 20 }, (_, at) => `"v"."column_${at}" as "v_column_${at}"`).join(
      ', ',
    );
    const where = 'from visits v where v.at between $1 and $2';
    expect(line(`select ${columns} ${where}`)).to.match(
      /^select v\.column_0 .*… from visits v where v\.at between \$1 and \$2$/,
    );
    expect(line(`select ?, ${columns} ${where}`)).to.match(
      /^select \?, v\.column_0 .* … .*v\.at between \$1 and \$2$/,
    );
    expect(line(`select a ${where}`)).to.equal(`select a ${where}`);
    const joins = ['teams', 'owners', 'places'].map((table) => `left outer join ${table} as some_${table} on some_${table}.id = v.${table}_id`).join(' '); // prettier-ignore
    const joined = `from visits v ${joins} where v.id = 7 order by v.at limit 5`;
    expect(line(`select a ${joined}`)).to.match(
      /^select a from visits v left outer join teams as some_teams on … .*on … where v\.id = 7 order by v\.at limit 5$/,
    );
    const many = Array.from({ length: 5 }, () => joins).join(' ');
    const nested = `select ${columns} from visits v where v.at > 4 limit 5`;
    expect(line(`select ${columns} from (${nested}) v ${many} order by v.at`)).to.match(
      /… from \(select .* … from visits v where v\.at > 4 limit 5\) v JOIN teams, owners, places … order by v\.at$/,
    );
    const inBrackets = `inner join ("visit_tags" as "t" inner join "public"."tags" as "g" on ${columns}) on t.id = v.id`;
    const lateral = `left join lateral (select ${columns} from notes n) as n on true`;
    expect(line(`select a from visits v ${inBrackets} ${joins} ${lateral} where v.id = 7`)).to.equal(
      'select a from visits v JOIN visit_tags, public.tags, teams, owners, places … where v.id = 7',
    );
    const long = `select a from visits where b = 1 ${'and c = 2 '.repeat(500)}`;
    expect(line(`${long}and "d" = 3`))
      .to.match(/… ?$/)
      .and.not.contain('"');
  });

  it('leaves out the middle of a long line, not a marked value in it', () => {
    const names = Array.from({ length: 40 }, (_, at) => `column_${at}`);
    const sql = `update visits set ${names.map((name) => `"${name}" = ?`).join(', ')} where id = 7 returning id`;
    const bindings = names.map((name, at) => ({ name, value: at }));
    const textOf = (marked?: ReadonlySet<string>): string =>
      oneLine(sql, 'sqlite', marked === undefined ? { bindings } : { bindings, marked })
        .map(([kind, text]) => (kind === 'u' ? `[${text}]` : text))
        .join('');
    expect(textOf()).to.match(/^update visits set column_0 = 0, .* … .* where id = 7 returning id$/);
    expect(textOf()).to.not.contain('column_20');
    const literal = `insert into logs (data, at, level) values ('${'ab '.repeat(200)}', 7, 'warn')`;
    const cut = oneLine(literal, 'sqlite')
      .map(([, text]) => text)
      .join('');
    expect(cut)
      .to.match(/^insert into logs \(data, at, level\) values \('ab .*…', 7, 'warn'\)$/)
      .and.have.length.below(140);
    expect(textOf(new Set(['column_20', 'column_1']))).to.match(
      /column_1 = \[1\], .* … .*column_20 = \[20\] … .*column_39 = 39 where/,
    );
  });

  it('have values in single and double quotes, with backslashes', () => {
    const shapes = [
      `name = "Ann"`,
      `name = 'Bob'`,
      String.raw`name = 'O\'Hara'`,
      String.raw`name = "\""`,
    ].map((test) => shapeOf(`select * from users where ${test} # ${test}`, 'mysql'));
    expect(new Set(shapes)).to.deep.equal(new Set(['select * from users where name = ?']));
    expect(labelOf(String.raw`SELECT 'x\'; delete from users; -- ' as t`, 'mysql')).to.equal('select');
    expect(shapeOf('select * from "Users" where id = 1')).to.equal('select * from "Users" where id = ?');
  });

  it('name the values of every statement that adds rows', () => {
    for (const sql of [
      'insert into users (id, password) values (?, ?)',
      'replace into users (id, password) values (?, ?)',
      'insert into users (id, password) select ?, ?',
      'insert into users (id, password) select coalesce(?, 1), lower(?) from t',
      'with t as (select 1) insert into users (id, password) values ($1, $2)',
      'insert into users (id, password) select * from unnest($1::int[], $2::text[])',
      'merge into users u using (select $1::int as id, $2 as password) s on u.id = s.id',
    ])
      expect(bindingColumns(sql), sql).to.deep.equal(['id', 'password']);
    const sql = 'insert into users (id, password) select a, ? from t where b = ?';
    expect(bindingColumns(sql)).to.deep.equal(['password', 'b']);
    for (const values of ['?', '(?)'])
      expect(bindingColumns(`insert into users (id, password) values ${values}`)).to.deep.equal([
        'id, password',
      ]);
    expect(bindingColumns('insert into users (id) values (?)')).to.deep.equal(['id']);
    const lists =
      'update users u set a = s.b from (values ($1, $2), ($3, lower($4))) as s(id, token) where s.id = $5';
    expect(bindingColumns(lists)).to.deep.equal(['id', 'token', 'id', 'token', 'id']);
    expect(bindingColumns('select * from (values ($1)) s where b = $2')).to.deep.equal([null, 'b']);
    const updates = 'update users set password = case id when 1 then ? else lower(?) end where id in (?)';
    expect(bindingColumns(updates)).to.deep.equal(['password', 'password', 'id']);
    for (const one of ['replace(a, ?, 1)', 'cast(? as text)'])
      expect(bindingColumns(`select ${one} from t where c = ?`)).to.deep.equal([null, 'c']);
  });

  it('name each value of compared rows', () => {
    for (const condition of [
      '(noted_at, id) < ($1, $2)',
      'row(noted_at, e.id) >= row($1::timestamptz, $2)',
      "(date_trunc('day', noted_at), id) = (lower($1), $2)",
      '(noted_at, "id") not in (($1, $2))',
    ])
      expect(bindingColumns(`select * from e where ${condition}`)).to.deep.equal(['noted_at', 'id']);
    expect(bindingColumns('select * from e where (a, b) in ((?, ?), (?, ?)) and c = ?')).to.deep.equal([
      'a', 'b', 'a', 'b', 'c',
    ]); // prettier-ignore
    for (const condition of ['coalesce(b, a) = ?', '(a) in (?)', 'a in (?)'])
      expect(bindingColumns(`select * from e where ${condition}`)).to.deep.equal(['a']);
  });

  it('name the values beside `??`', () => {
    expect(bindingColumns('select ?? from ?? where password = ?', 'mysql')).to.deep.equal([
      null,
      null,
      'password',
    ]);
  });
});

describe('SQL, told without a parser', () => {
  it('tells keywords, texts, numbers, placeholders and comments apart', () => {
    expect(kinds(`select "from" from t where a = 'it''s' and b > 1.5 and c = $1 -- done`)).to.deep.equal([
      'k:select', ':"from"', 'k:from', ':t', 'k:where', ':a =', `s:'it''s'`, 'k:and', ':b >', 'd:1.5', 'k:and', ':c =', 'd:$1',
      'c:-- done',
    ]); // prettier-ignore
    expect(kinds(`select $tag$a 'b' $1$tag$ /* c */ from x`)).to.deep.equal([
      'k:select', `s:$tag$a 'b' $1$tag$`, 'c:/* c */', ':', 'k:from', ':x',
    ]); // prettier-ignore
  });

  it('loses no character, whatever it is given', () => {
    const samples = [
      `select 'open`, `"open`, '/* open', '$$open', `e'\\'x' ? :name ::int`, 'ünïcode "täble"', '\u0000\ud800', '', '   ', '$', '$1',
    ]; // prettier-ignore
    for (const sql of samples) {
      const text = sqlTokens(sql).map(([, part]) => part);
      expect(text.join('')).to.equal(sql);
    }
  });

  it('knows the placeholders and names of other dialects, and commands of MongoDB', () => {
    expect(bindingColumns('select * from `users` where `email` = ? and id in (?, ?)')).to.deep.equal([
      'email',
      'id',
      'id',
    ]);
    expect(labelOf('insert into `users` (`email`) values (?)')).to.equal('insert into users');
    expect(bindingColumns('select * from t where a = :email and b < @limit or c = :email')).to.deep.equal([
      'email',
      'limit',
    ]);
    const command =
      'db.shop.users.find({"age": {"$gt": ?}, "$or": [{"email": ?}, {"name": ?}]}, {"limit": ?})';
    expect(bindingColumns(command)).to.deep.equal(['age', 'email', 'name', 'limit']);
    expect(labelOf(command)).to.equal('shop.users.find');
    expect(shapeOf('db.users.find({"id": {"$in": [?, ?, ?]}})')).to.equal(
      shapeOf('db.users.find({"id": {"$in": [?, ?]}})'),
    );
    expect([
      isRead(command),
      isRead('db.users.update({"a": ?}, {"b": ?})'),
      isRead('db.ping({})'),
    ]).to.deep.equal([true, false, false]);
  });

  it('stays linear for texts made to be slow', () => {
    const samples = ["/*'".repeat(6000), "'".repeat(19_999), '$a$'.repeat(6000), '('.repeat(20_000), '?, '.repeat(6000)]; // prettier-ignore
    const cpuMs = cpuMsOf(() => {
      for (const sql of samples) {
        shapeOf(sql);
        bindingColumns(sql);
        sqlLines(sql);
      }
    });
    expect(cpuMs).to.be.lessThan(1500);
  });

  it('writes statements alike that differ only in values', () => {
    expect(shapeOf('SELECT * FROM a  WHERE id IN (1, 2,3)')).to.equal(
      shapeOf('select * from a where id in ($1)'),
    );
    expect(shapeOf(`insert into a (b, c) values (1, 'x'), (2, 'y')`)).to.equal(
      shapeOf(`insert into a (b, c) values ($1, $2)`),
    );
    expect(shapeOf('select * from a where b = 1')).not.to.equal(shapeOf('select * from a where c = 1'));
  });

  it('labels statements shortly', () => {
    expect(labelOf('select "a".* from "public"."products" as a where x = 1')).to.equal(
      'select … from products',
    );
    expect(labelOf('select l.id, (select max(b.amount) from bids b where b.lot = l.id) as bid from lots l')).to.equal('select … from lots'); // prettier-ignore
    expect(labelOf('select extract(year from at), 1 from visits')).to.equal('select … from visits');
    expect(labelOf('select distinct v.id from (select v.id from (select * from visits) v) v')).to.equal('select … from visits'); // prettier-ignore
    expect(labelOf('with q as (select 1) select * from q')).to.equal('select … from q');
    expect(labelOf('insert into "users" ("a") values ($1)')).to.equal('insert into users');
    expect(labelOf('update only things set a = 1')).to.equal('update things');
    expect(labelOf('delete from things')).to.equal('delete from things');
    expect(labelOf('BEGIN;')).to.equal('begin');
    expect(labelOf('')).to.equal('waiting for a connection');
  });

  it('finds the columns that values stand for, so that secrets are masked by name', () => {
    expect(bindingColumns('select * from u where "email" = $1 and u.password = $2 limit $3')).to.deep.equal([
      'email', 'password', 'limit',
    ]); // prettier-ignore
    expect(bindingColumns('insert into "u" ("email", "password") values ($1, $2), ($3, DEFAULT), (DEFAULT, $4)')).to.deep.equal(
      ['email', 'password', 'email', 'password'],
    ); // prettier-ignore
    expect(bindingColumns('update u set "password" = $1, n = n + $2 where id = any($3)')).to.deep.equal([
      'password', null, 'id',
    ]); // prettier-ignore
    expect(bindingColumns('select * from t where a in (?, ?) and b like ?')).to.deep.equal(['a', 'a', 'b']);
    expect(bindingColumns('select $1::text')).to.deep.equal([null]);
    expect(bindingColumns('select * from t where tags ? $1 and a = $2')).to.deep.equal([null, 'a']);
    expect(bindingColumns('select 1 from u where lower(email) = lower($1::text) and password = crypt($2, password)')).to.deep.equal(
      ['email', 'password'],
    ); // prettier-ignore
    expect(bindingColumns('select 1 from t where a between $1 and $2 and b = $3')).to.deep.equal([
      'a',
      'a',
      'b',
    ]);
    expect(bindingColumns('insert into u (email) values ($1) on conflict (email) do update set "password" = $2')).to.deep.equal(
      ['email', 'password'],
    ); // prettier-ignore
    expect(bindingColumns('insert into u (email, password) values (lower($1), crypt($2, gen_salt($3)))')).to.deep.equal(
      ['email', 'password', 'password'],
    ); // prettier-ignore
  });

  it('knows what controls a transaction', () => {
    for (const sql of [
      'BEGIN;',
      'COMMIT;',
      'ROLLBACK',
      'SAVEPOINT trx3;',
      'release trx3',
      'END;',
      'abort',
      'PRAGMA TABLE_INFO(`things`);',
    ])
      expect(isControl(sql), sql).to.equal(true);
    expect(isControl('SET a TO on;SET b TO off;')).to.equal(true);
    for (const sql of ['select begin from t', 'begin; update things set size = 1; commit'])
      expect(isControl(sql), sql).to.equal(false);
  });
});
