/** Days that a response has as the days before. */
import { sameName } from '../../panels/shared/compare-values.ts';
import { foundRows } from '../../panels/shared/found-rows.ts';
import { type Leaf, leavesIn } from '../../panels/shared/json-leaves.ts';
import type { Json } from '../../profiler/json.ts';
import type { Kept, Query } from './kept.ts';
import { groupBy } from '../../profiler/group-by.ts';
import { mediaTypeOf } from '../../profiler/http-text.ts';

export const DAY = /^(\d{4}-\d\d-\d\d)$/;
export const DAY_MS = 86_400_000;
export const MOMENT = /^(\d{4}-\d\d-\d\d)[T ]\d\d:\d\d/;

/** The day that a leaf says, whose time is in UTC. */
function sentDay(value: Leaf['value']): { day: string; isMoment: boolean } | null {
  if (typeof value !== 'string') return null;
  const [, day] = DAY.exec(value) ?? MOMENT.exec(value) ?? [];
  return day === undefined ? null : { day, isMoment: !DAY.test(value) };
}

function isDayBefore(sent: string, day: Json | undefined): boolean {
  return typeof day === 'string' && DAY.test(day) && Date.parse(day) - Date.parse(sent) === DAY_MS;
}

function dayBefore(day: string): string {
  return new Date(Date.parse(day) - DAY_MS).toISOString().slice(0, 10);
}

/** Columns of days of which a page has none, but the day before each. */
function movedInPage(text: string, query: Query): string[] {
  const found = foundRows(query);
  const others = new Set(found.flatMap((row) => Object.values(row)));
  return Object.keys(found[0] ?? {}).filter((column) => {
    const days = found.map((row) => row[column]).filter((day) => typeof day === 'string' && DAY.test(day));
    return (
      days.length === query.rows &&
      (days as string[]).every((day) => {
        const before = dayBefore(day);
        return text.includes(before) && !text.includes(day) && !others.has(before);
      })
    );
  });
}

/** Columns of days that the response has as the days before, in the same order. */
export function movedDays({ request, database }: Pick<Kept, 'request' | 'database'>) {
  const text = request.response?.text ?? '';
  if (mediaTypeOf(request.response?.contentType ?? null) === 'text/html')
    return database.queries.flatMap((query, index) =>
      movedInPage(text, query).map((name) => ({ name, isMoment: false, index })),
    );
  const leaves = groupBy(leavesIn(text), ({ name }) => sameName(name));
  return database.queries.flatMap((query, index) => {
    const found = foundRows(query);
    const [first] = found;
    if (first === undefined) return [];
    return Object.keys(first).flatMap((column) => {
      const days = found.map((row) => row[column]);
      const named = leaves.get(sameName(column)) ?? [];
      const sent = named.slice(0, days.length).map(({ value }) => sentDay(value));
      const isMoved = sent.every((one, at) => one !== null && isDayBefore(one.day, days[at]));
      const [name] = named;
      return isMoved && name !== undefined && named.length === query.rows
        ? [{ name: name.name, isMoment: sent[0]?.isMoment === true, index }]
        : [];
    });
  });
}
