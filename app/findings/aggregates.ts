/** Sums, maxima and running totals that are not those of the rows they seem to be of. */
import { foundRows } from '../panels/shared/found-rows.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { givenText } from './shared/conditions.ts';
import type { Needs, Rule } from './shared/kept.ts';
import { draftAt, labelOf, plainSql, PRIMARY, readsOf, textOf } from './shared/queries.ts';
import { count, excerpt, listOf } from './shared/wording.ts';

/** The same text with a filler in place of quoted texts and what is in brackets, so that clauses and commas can be found. */
function outline(sql: string): string {
  let depth = 0;
  return sql.replace(/'(?:[^']|'')*'|[\s\S]/g, (part) => {
    if (part === ')') depth--;
    const shown = depth === 0 && part.length === 1 ? part : '_'.repeat(part.length);
    if (part === '(') depth++;
    return shown;
  });
}

function splitAtCommas(text: string): string[] {
  let at = 0;
  return outline(text)
    .split(',')
    .map(({ length }) => {
      const part = text.slice(at, at + length).trim();
      at += length + 1;
      return part;
    });
}

const SELECT =
  /^select (.+?) from (.+?)(?: where .+?)?(?: group by (.+?))?(?: having .+?)?(?: order by .+?)?(?: (?:limit|offset|fetch|for) .*)?;?$/di;

/** The parts of a plain SELECT; null for any other statement. */
function selectOf(sql: string): { columns: string[]; from: string; groups: string[] } | null {
  const text = sql.trim();
  const [, columns, from, groups] = SELECT.exec(outline(text))?.indices ?? [];
  if (columns === undefined || from === undefined) return null;
  return {
    columns: splitAtCommas(text.slice(...columns)),
    from: text.slice(...from),
    groups: groups === undefined ? [] : splitAtCommas(text.slice(...groups)),
  };
}

interface Link {
  on: string;
  one: string;
  many: string;
  key: string;
  /** The table with many rows was joined to the other, by this key alone. The other way round, or with more conditions, it may well be one row. */
  fansOut: boolean;
}

const TABLE = /^(?:\w+\.)?(\w+)(?: as)?(?: (\w+))?$/i;
const JOINED =
  /^(?:\w+\.)?(\w+)(?: as)?(?: (?!on\b)(\w+))? on \(?(\w+)\.(\w+) ?= ?(\w+)\.(\w+)((?: and (?!.* or ).+)?)\)?$/i;
/** Rows that were deleted by a mark: those that are left are many all the same. */
const NOT_DELETED = /^(?: and (?:[\w.]+ is null|not [\w.]+))*$/i;

/** Tables by their names in the statement, and which of two has many rows for one of the other; null if that is not clear. */
function joinsOf(from: string): { tables: Map<string, string>; links: Link[] } | null {
  const [first = '', ...joins] = from.split(/ (?:(?:left|right|inner|full|outer) )*join /i);
  const [, table, alias = table] = TABLE.exec(first) ?? [];
  if (table === undefined || alias === undefined) return null;
  const tables = new Map([[alias, table]]);
  const links: Link[] = [];
  for (const join of joins) {
    const [, joined, as = joined, a = '', x = '', b = '', y = '', more = ''] = JOINED.exec(join) ?? [];
    const isOneFirst = PRIMARY.test(x);
    const key = isOneFirst ? y : x;
    if (joined === undefined || as === undefined || PRIMARY.test(y) === isOneFirst) return null;
    if (!/id$/i.test(key) || tables.has(as)) return null;
    tables.set(as, joined);
    const [one, many] = isOneFirst ? [a, b] : [b, a];
    links.push({
      on: `${a}.${x} = ${b}.${y}`,
      one,
      many,
      key,
      fansOut: many === as && NOT_DELETED.test(more),
    });
  }
  return { tables, links };
}

/** The links from one table to another, and whether each leads from one row to many. */
function pathBetween(
  links: readonly Link[],
  from: string,
  to: string,
): { link: Link; isToMany: boolean }[] | null {
  if (from === to) return [];
  for (const link of links) {
    const isToMany = link.one === from;
    if (!isToMany && link.many !== from) continue;
    const others = links.filter((other) => other !== link);
    const further = pathBetween(others, isToMany ? link.many : link.one, to);
    if (further !== null) return [{ link, isToMany }, ...further];
  }
  return null;
}

const SUMMED = /\b(sum|count) ?\( ?(distinct )?([^()]+(?:\([^()]*\)[^()]*)*)\)(?! ?over\b)/gi;

/** What is summed up or counted, with the one table it is of. */
function sumsIn(columns: readonly string[]) {
  return Array.from(columns.join(', ').matchAll(SUMMED), ([, by = '', distinct, what = '']) => {
    const of = new Set(Array.from(what.matchAll(/\b(\w+)\.\w+/g), ([, alias = '']) => alias));
    const [alias] = of;
    return { by: by.toLowerCase(), isDistinct: distinct !== undefined, what: what.trim(), of, alias };
  }).flatMap(({ alias, of, ...one }) => (of.size === 1 && alias !== undefined ? [{ ...one, alias }] : []));
}

const joinedRowsSummed: Rule<Needs<'database'>> = {
  name: 'joined-rows-summed',
  needs: ['database'],
  labels: ['joined rows summed'],
  why: 'One SELECT sums or counts columns of two tables, and the join between them repeats a row of the one for each row of the other: `payments.invoice_id = invoices.id`.',
  fix: 'Sum the second table up before you join it: `left join (select invoice_id, sum(amount) as paid from payments group by invoice_id) p on p.invoice_id = i.id`. Count with `count(distinct i.id)`.',
  find({ database }) {
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const { read, query } = one;
      if (read.verb !== 'select' || read.joins === 0 || query.rows === 0) return [];
      const select = selectOf(plainSql(database, query));
      const joined = select === null ? null : joinsOf(select.from);
      // A division may take the repetition out again.
      if (select === null || joined === null || select.columns.some((column) => column.includes('/')))
        return [];
      const sums = sumsIn(select.columns);
      for (const { by, what, alias } of sums.filter(({ isDistinct }) => !isDistinct)) {
        for (const other of sums.filter((one) => one.alias !== alias)) {
          const path = pathBetween(joined.links, alias, other.alias);
          const link = path?.find((step) => step.isToMany && step.link.fansOut)?.link;
          if (link === undefined || select.groups.includes(`${other.alias}.id`)) continue;
          const [table, many] = [alias, link.many].map((name) =>
            excerpt(joined.tables.get(name) ?? name, 40),
          );
          const sentence = `${labelOf(database, query)} ${by}s ${excerpt(what, 40)} over the join with ${many} (${link.on}), so a row of ${table} counts once for each row of ${many} that is joined to it; join ${many} summed up by ${link.key} instead`;
          return [draftAt(one, sentence, 'warn')];
        }
      }
      return [];
    });
  },
};

const BARE = /^(?:\w+\.)?(\w+|\*)(?: (?:as )?(\w+))?$/i;
const EXTREME = /\b(?:min|max) ?\([^()]*\)(?! ?over\b)/gi;
/** A group of such a column may have one row, or one value of each other column. */
const OF_ONE_ROW = /(?:id|code|key|slug|sku|mail|number|no|name|isbn|hash|token)$/i;

/** Columns beside a MIN or MAX that come from any row of their group; none if the group may have one value of them. */
function ungrouped({ columns, groups }: { columns: string[]; groups: string[] }): string[] {
  const bare = columns.map((column) => BARE.exec(column));
  const names = groups.map((group) => {
    const [, name] = BARE.exec(group) ?? [];
    return name !== undefined && /^\d+$/.test(name) ? (bare[Number(name) - 1]?.[1] ?? name) : name;
  });
  if (names.length === 0 || names.some((name) => name === undefined || OF_ONE_ROW.test(name))) return [];
  return bare.flatMap((found) => {
    const [, name = '', as = name] = found ?? [];
    const isGrouped = names.some((group) => group === as || name.startsWith(group ?? ''));
    return name === '' || isGrouped ? [] : [name];
  });
}

const columnNotGrouped: Rule<Needs<'database'>> = {
  name: 'column-not-grouped',
  needs: ['database'],
  labels: ['any row of group'],
  why: 'A SELECT of one table in MySQL has columns beside `MIN` or `MAX` that are not in its GROUP BY; in SQLite beside both. Other databases refuse it.',
  fix: 'Number the rows of each group and take the first: `select … from (select *, row_number() over (partition by region order by rating desc) as n from wines) w where n = 1`. In MySQL, set `ONLY_FULL_GROUP_BY`, so that it refuses such a statement.',
  find({ database }) {
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const { read, query } = one;
      const { system } = database.statements[query.statement] ?? {};
      if (read.verb !== 'select' || read.joins > 0 || (query.rows ?? 0) < 1) return [];
      if (system !== 'mysql' && system !== 'sqlite') return [];
      const select = selectOf(plainSql(database, query));
      if (select === null || !TABLE.test(select.from)) return [];
      const extremes = select.columns.flatMap((column) => column.match(EXTREME) ?? []);
      const [extreme] = extremes;
      // Of one MIN or MAX, SQLite takes the other columns from its row.
      if (extreme === undefined || (system === 'sqlite' && new Set(extremes).size === 1)) return [];
      const names = ungrouped(select);
      if (names.length === 0) return [];
      const [are, they] = names.length === 1 ? ['is', 'it comes'] : ['are', 'they come'];
      const sentence = `${labelOf(database, query)} groups by ${listOf(select.groups)}, but ${listOf(names)} ${are} neither in GROUP BY nor aggregated: ${they} from any row of the group, not from the one with ${excerpt(extreme, 40)}`;
      return [draftAt(one, sentence, 'bad')];
    });
  },
};

/** `sum(cents) over (order by booked_on)`; with ROWS or RANGE, it says what it wants. */
const RUNNING =
  /\bsum ?\( ?(?:\w+\.)?(\w+) ?\) over ?\( ?(partition by [\w., ]+? )?order by (?:\w+\.)?(\w+)(?: asc| desc)? ?\).*?(?: as)? (\w+)$/i;

const runningTotalTies: Rule<Needs<'database'>> = {
  name: 'running-total-ties',
  needs: ['database'],
  labels: ['running total'],
  why: 'A window sums up by ORDER BY without ROWS, and rows that follow each other have the same total although their amounts are not 0. Without ROWS, rows with an equal sort key are summed up together.',
  fix: 'Sort the window by a unique column as well (`over (order by booked_on, id)`), as the list is sorted.',
  find({ database }) {
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const { query, read } = one;
      const sql = plainSql(database, query);
      if (read.verb !== 'select' || !/\bover ?\(/i.test(sql)) return [];
      const columns = selectOf(sql)?.columns ?? [];
      for (const [, amount = '', partition, key = '', total = ''] of columns.map(
        (column) => RUNNING.exec(column) ?? [],
      )) {
        if (total === '' || partition !== undefined) continue;
        const rows = foundRows(query);
        const tied = rows.find((row, at) => {
          const next = rows[at + 1];
          return (
            next?.[total] === row[total] && [row, next].every((part) => Number(part?.[amount] ?? 0) !== 0)
          );
        });
        const shared = textOf(tied?.[total]);
        if (shared === null) continue;
        const same = rows.filter((row) => textOf(row[total]) === shared).length;
        const sentence = `${labelOf(database, query)} has sum(${amount}) over (order by ${key}): rows of the same ${key} all get the total after the last of them, as ${count(same, 'row')} with ${excerpt(shared, 40)}; write over (order by ${key}, id)`;
        return [draftAt(one, sentence, 'bad')];
      }
      return [];
    });
  },
};

const UNION = ' union ';

/** The columns of each part of a UNION that leaves equal rows out; null if it is none, or if some are left out on purpose. */
function unionColumns(sql: string): string[][] | null {
  if (!/ union /i.test(sql)) return null;
  const text = sql.trim();
  const shape = outline(text).toLowerCase();
  if (!shape.includes(UNION) || / union (?:all|distinct) /.test(shape)) return null;
  let at = 0;
  return shape.split(UNION).map(({ length }) => {
    const part = text.slice(at, at + length).replace(/^\((.*)\)$/, '$1');
    at += length + UNION.length;
    const [, columns] = /^select (?!distinct\b)(.+?) from /di.exec(outline(part))?.indices ?? [];
    return columns === undefined ? [] : splitAtCommas(part.slice(...columns));
  });
}

/** `'ride' as kind`. */
const CONSTANT = /^'(?:[^']|'')*'(?: as (\w+))?$/i;
/** Rows with one of these are hardly equal, or equal ones are one thing. */
const TELLS_APART =
  /(?:^|_)(?:id|uuid|guid|number|no|code|key|name|title|email|at|time|timestamp)$|[a-z](?:Id|At)$|^\*$/i;

function columnName(column: string): string {
  return column.split(/[ .]/).at(-1) ?? '';
}

const rowsMerged: Rule<Needs<'database'>> = {
  name: 'rows-merged',
  needs: ['database'],
  labels: ['UNION'],
  why: 'A UNION without ALL returns equal rows once. Its parts have different constants in one column, so only rows of the same part can be equal, and no other column looks like a key, a name or a moment.',
  fix: 'Use `UNION ALL` (`unionAll` of Knex): it returns every row, and compares none. If equal rows are one thing, say so with `SELECT DISTINCT` in that part.',
  find({ database }) {
    return database.queries.flatMap((query, index): FindingDraft[] => {
      const parts = unionColumns(plainSql(database, query)) ?? [];
      const [first = []] = parts;
      const differs = first.findIndex((_column, at) => {
        const constants = parts.map((columns) => columns[at] ?? '');
        return constants.every((one) => CONSTANT.test(one)) && new Set(constants).size === parts.length;
      });
      const others = first.filter((_column, at) => at !== differs).map(columnName);
      if (differs === -1 || others.length === 0 || others.some((name) => TELLS_APART.test(name))) return [];
      const kind = CONSTANT.exec(first[differs] ?? '')?.[1] ?? `column ${differs + 1}`;
      const equal = listOf(others.map((name) => excerpt(name, 40)));
      const sentence = `${labelOf(database, query)} returns rows that are equal in ${equal} once: UNION removes the others, and its parts, which differ in ${excerpt(kind, 40)}, have no equal rows in common`;
      return [draftAt({ query, index }, sentence, 'warn')];
    });
  },
};

/** A column that is one value of all rows. */
const OF_ALL =
  /^(?:count|sum|avg|min|max|bool_and|bool_or|total) ?\([^()]*(?:\([^()]*\)[^()]*)*\)(?! ?over\b)/i;

const aggregateSkipped: Rule<Needs<'database'>> = {
  name: 'aggregate-skipped',
  needs: ['database'],
  labels: ['total skipped'],
  why: 'A SELECT of aggregates only, without GROUP BY and HAVING, has an OFFSET of 1 or more, and returned no row. Without GROUP BY there is one row, which the OFFSET skips.',
  fix: 'Count before the page is cut: `query.clone().count()` before `.limit()` and `.offset()`. Builders of Knex and others change themselves, so a later copy has both.',
  find({ database }) {
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const { read, query } = one;
      const skipped = Number(givenText(read.offset ?? undefined, query) ?? 0);
      if (read.verb !== 'select' || !(skipped >= 1) || query.rows !== 0) return [];
      const sql = plainSql(database, query);
      const select = selectOf(sql);
      if (select === null || select.groups.length > 0 || / having /i.test(outline(sql))) return [];
      if (!select.columns.every((column) => OF_ALL.test(column))) return [];
      const sentence = `${labelOf(database, query)} returned no row: without GROUP BY, an aggregate is one row, and OFFSET ${count(skipped)} skips it`;
      return [draftAt(one, sentence, 'bad')];
    });
  },
};

export const aggregateRules: readonly Rule[] = [
  joinedRowsSummed,
  columnNotGrouped,
  runningTotalTies,
  rowsMerged,
  aggregateSkipped,
];
