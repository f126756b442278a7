/**
 * One read instead of a loop, in the way the caller writes: Knex, Prisma, or SQL. What the values are is read from the source line
 * that was kept with the loop: `where({ id: order.customer_id })`.
 */
import { differingNames, inOneQuery } from '../../panels/shared/one-query.ts';
import type { FixCode } from '../../profiler/finding.ts';
import type { Kept } from './kept.ts';
import { labelOf } from './queries.ts';
import { pick } from '../../panels/shared/rows.ts';

type Database = Kept['database'];
type Group = Database['groups'][number];

/** Lines of a call that is broken over several, from the one that is named as its place. */
const LINES_OF_CALL = 4;
/** The first line of the call, about: behind it may stand other code. */
const LONGEST_LINE = 100;
const NAME = '[A-Za-z_$][\\w$]*';

/** The values of the loop, as the source has them. */
interface Values {
  /** `order` */
  item: string;
  /** `customer_id` */
  property: string;
  /** `orders`; null if it stands elsewhere. */
  list: string | null;
}

interface Source {
  /** The lines of the call. */
  call: string;
  /** What stands above them. */
  above: string;
}

function sourceOf({ excerpts = [] }: Database, { caller }: Group): Source | null {
  const kept = excerpts.find(({ place }) => place === caller);
  if (kept === undefined) return null;
  const { from, lines } = kept.excerpt;
  const at = Number(/\d+$/.exec(kept.place)) - from;
  return {
    call: lines.slice(at, at + LINES_OF_CALL).join(' '),
    above: lines.slice(0, at + 1).join('\n'),
  };
}

/** What the innermost loop above goes through: `for (const order of orders)`, `orders.map((order) =>`. */
function itemsIn(above: string): { item: string; list: string } | null {
  const loops = [
    ...above.matchAll(
      new RegExp(
        `\\bfor\\s*(?:await\\s*)?\\(\\s*(?:const|let|var)\\s+(${NAME})\\s+of\\s+([\\w$.]+)\\s*\\)|([\\w$.]+)\\.(?:map|flatMap|forEach)\\(\\s*(?:async\\s*)?\\(?\\s*(${NAME})\\b`,
        'g',
      ),
    ),
  ];
  const [, looped, list, mapped, passed] = loops.at(-1) ?? [];
  const item = looped ?? passed;
  const of = list ?? mapped;
  return item === undefined || of === undefined ? null : { item, list: of };
}

/** The only property of the loop's item that the call uses: `linesOf(db, order.id)`. */
function propertyIn(call: string, item: string): string | null {
  const used = call.matchAll(new RegExp(`\\b${item.replaceAll('$', '\\$')}\\.(${NAME})\\b(?!\\()`, 'g'));
  const [only, ...others] = new Set(Array.from(used, ([, property]) => property));
  return only === undefined || others.length > 0 ? null : only;
}

/** `id: order.customer_id`, `'id', order.customer_id` or the only value of a list: `[order.customer_id]`. */
function valuesIn({ call, above }: Source, column: string): Values | null {
  const items = itemsIn(above);
  const name = column.replace(/\W/g, '\\$&');
  const [, item, property] =
    new RegExp(`(?:\\b${name}\\s*:|['"\`]${name}['"\`]\\s*[:,])\\s*(${NAME})\\.(${NAME})\\b`).exec(call) ??
    new RegExp(`\\[\\s*(${NAME})\\.(${NAME})\\s*\\]`).exec(call) ??
    [];
  if (item !== undefined && property !== undefined)
    return { item, property, list: items?.item === item ? items.list : null };
  const only = items === null ? null : propertyIn(call.slice(0, LONGEST_LINE), items.item);
  return items === null || only === null ? null : { ...items, property: only };
}

/** All values at once: `orders.map((order) => order.customer_id)`. */
function allOf({ item, property, list }: Values): string {
  return `${list ?? `${item}s`}.map((${item}) => ${item}.${property})`;
}

function tableOf(database: Database, group: Group): string | null {
  return /select … from (\S+)$/.exec(labelOf(database, group))?.[1] ?? null;
}

/** The table of the read before the loop, whose rows it most likely goes through. */
function parentOf(database: Database, { members }: Group): string | null {
  const before = database.queries.slice(0, members[0]).findLast(({ rows }) => (rows ?? 0) >= members.length);
  const label = before === undefined ? '' : labelOf(database, before);
  return /select … from (\S+)$/.exec(label)?.[1] ?? null;
}

interface Loop {
  column: string;
  table: string;
  parent: string | null;
  values: Values | null;
  call: string;
  /** Each read asked for one row. */
  isSingle: boolean;
}

/** What to do with the rows, at the place of the loop. */
function lookupLines({ column, values, isSingle }: Loop): string[] {
  const key = values === null ? 'value' : `${values.item}.${values.property}`;
  return isSingle
    ? [`const byKey = new Map(rows.map((row) => [row.${column}, row]));`, `// in the loop: byKey.get(${key})`]
    : [`// in the loop: rows.filter((row) => row.${column} === ${key})`];
}

function prismaCode(loop: Loop): string | null {
  const [, client, model] =
    new RegExp(`\\b(${NAME}(?:\\.${NAME})?)\\.(${NAME})\\.find(?:Unique|First|Many)(?:OrThrow)?\\(`).exec(
      loop.call,
    ) ?? [];
  if (client === undefined || model === undefined) return null;
  const values = loop.values === null ? 'values' : allOf(loop.values);
  return [
    `const rows = await ${client}.${model}.findMany({ where: { ${loop.column}: { in: ${values} } } });`,
    ...lookupLines(loop),
  ].join('\n');
}

function knexCode(loop: Loop): string {
  const { column, table, parent, values, call } = loop;
  const quoted = new RegExp(`\\b(${NAME})\\(\\s*['"\`]${table.replace(/\W/g, '\\$&')}['"\`]`);
  const knex = quoted.exec(call)?.[1] ?? 'knex';
  const keys = values === null ? 'values' : `[...new Set(${allOf(values)})]`;
  const join =
    parent === null || parent === table || values === null
      ? []
      : [
          `// or both in one query: ${knex}('${parent}').join('${table}', '${table}.${column}', '${parent}.${values.property}')`,
        ];
  return [
    `const rows = await ${knex}('${table}').whereIn('${column}', ${keys});`,
    ...lookupLines(loop),
    ...join,
  ].join('\n');
}

function sqlCode({ column, table, parent, values }: Loop, sql: string): string | null {
  const changed = inOneQuery(sql.trim(), column);
  if (changed === null) return null;
  const binding = values === null ? 'all values of the loop' : allOf(values);
  const join =
    parent === null || parent === table || values === null
      ? []
      : [
          `-- or both in one query: from ${parent} join ${table} on ${table}.${column} = ${parent}.${values.property}`,
        ];
  return [changed, `-- the list: ${binding}`, ...join].join('\n');
}

function assumptionOf({ column, table, parent, values, isSingle }: Loop, hasJoin: boolean): string {
  const parts = [
    values === null
      ? `the values of the loop are known before it (${column} differed between the reads)`
      : values.list === null
        ? `${values.item}.${values.property} of every item is known before the loop`
        : `${values.list} is complete before the loop`,
    ...(isSingle ? [`${column} is unique in ${table}`] : []),
    ...(hasJoin && values !== null ? [`${parent ?? ''} has the column ${values.property}`] : []),
  ];
  return `Assumes that ${parts.join(', and ')}.`;
}

/** null if the reads differ in more than one value, or the statement is not simple. */
export function loopCode(database: Database, group: Group): FixCode | null {
  const { queries, statements } = database;
  const members = pick(queries, group.members);
  const [column, ...others] = differingNames(members);
  const table = tableOf(database, group);
  const sql = statements[group.statement]?.sql ?? '';
  if (column === undefined || others.length > 0 || table === null || !/^\w+$/.test(column)) return null;
  const source = sourceOf(database, group);
  const loop: Loop = {
    column,
    table,
    parent: parentOf(database, group),
    values: source === null ? null : valuesIn(source, column),
    call: source?.call ?? '',
    isSingle: /\blimit\s+(?:\$\d+|\?|1)\s*;?\s*$/i.test(sql) || members.every(({ rows }) => (rows ?? 0) <= 1),
  };
  const isKnex = members[0]?.connection?.startsWith('__knexUid') === true && !/\braw\(/.test(loop.call);
  const prisma = prismaCode(loop);
  const text = prisma ?? (isKnex ? knexCode(loop) : sqlCode(loop, sql));
  if (text === null) return null;
  return {
    language: prisma !== null || isKnex ? 'ts' : 'sql',
    text,
    assumes: assumptionOf(loop, text.includes('in one query')),
  };
}
