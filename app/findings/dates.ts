/** Days and hours that moved to another one, and days that end with their first moment. */
import { sameName } from '../panels/shared/compare-values.ts';
import { foundRows } from '../panels/shared/found-rows.ts';
import { type Leaf, leavesIn } from '../panels/shared/json-leaves.ts';
import { isPage, pageText } from '../panels/shared/page-text.ts';
import { type Comparison, givenValue } from '../panels/shared/read-statement.ts';
import { receivedFields } from '../panels/shared/received.ts';
import type { ConfigurationData } from '../panels/configuration/data.ts';
import type { KeptRequest } from '../panels/request/data.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import type { Json } from '../profiler/json.ts';
import type { Database, Kept, Needs, OtherRequest, Query, Rule } from './shared/kept.ts';
import { DAY, DAY_MS, movedDays } from './shared/moved-days.ts';
import { draftAt, labelOf, type Read, readsOf } from './shared/queries.ts';
import { count, duration, excerpt, listOf, requestText } from './shared/wording.ts';

const dayMoved: Rule<Needs<'request' | 'database'>> = {
  name: 'day-moved',
  needs: ['request', 'database'],
  labels: ['day moved'],
  why: 'A statement returned rows with a DATE, and the response has it under the same name, but as the day before; or a page has the days before, and none of the days.',
  fix: 'Keep dates without a time as text: `types.setTypeParser(1082, String)` of `pg`. It makes them a local midnight, which `toISOString()` and JSON write in UTC: east of Greenwich that is the day before.',
  find(kept) {
    const { database } = kept;
    const moved = movedDays(kept);
    const [first] = moved;
    const query = database.queries[first?.index ?? -1];
    if (first === undefined || query === undefined) return [];
    const { isMoment } = first;
    const alike = moved.filter((one) => one.index === first.index && one.isMoment === isMoment);
    const names = listOf(alike.map(({ name }) => name));
    const was = alike.length === 1 ? 'was' : 'were';
    const what = isMoment ? 'as a moment of the day before' : 'as the day before';
    const how = isMoment
      ? 'only clients in the time zone of this server get the day back'
      : 'a local midnight was written in UTC';
    const sentence = `${names} ${was} sent ${what} the one that ${labelOf(database, query)} returned: ${how}`;
    const broke = isMoment ? {} : ({ broke: 'response' } as const);
    const severity = isMoment ? 'info' : 'bad';
    return [{ ...broke, severity, sentence, anchor: 'response', place: query.caller }];
  },
};

/** Names of columns that have a time of day. */
const OF_TIME = /(?:[a-z]At|_at|[tT]ime|[tT]imestamp)$/;

/** Both begin a day, a week or a month: the end is meant to be left out. */
function areBeginnings(from: string, to: string): boolean {
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS;
  return days === 1 || days === 7 || from.slice(8, 10) === to.slice(8, 10);
}

const MIDNIGHT = /^(\d{4}-\d\d-\d\d)[T ]00:00(?::00(?:\.0+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)?$/;

/** A column of time, asked for by two days of which the latter is its end; a midnight is a day if the request has that day. */
function dayAsEnd({ read, query }: Read, received: ReadonlySet<Leaf['value']>): string | null {
  const isDay = (value: Json | undefined): value is string =>
    typeof value === 'string' && (DAY.test(value) || received.has(MIDNIGHT.exec(value)?.[1] ?? null));
  const of = ({ values }: Comparison) => values.map((value) => givenValue(value, query.bindings));
  for (const one of read.where ?? []) {
    if (one.wrapped !== null || !OF_TIME.test(one.column)) continue;
    const [first, second] = of(one);
    if (one.operator === 'between' && isDay(first) && isDay(second)) return one.column;
    if (one.operator !== '<=' || !isDay(first)) continue;
    const begins = read.where?.some((other) => {
      if (other.column !== one.column || other.operator !== '>=') return false;
      const [begin] = of(other);
      return isDay(begin) && !areBeginnings(begin, first);
    });
    if (begins === true) return one.column;
  }
  return null;
}

/** Text of a moment that is no midnight. */
const IN_DAY = /^\d{4}-\d\d-\d\d[T ](?!00:00(?::00(?:\.0+)?)?(?:Z|[+-]|$))\d\d:\d\d/;

interface DayAsEnd extends Read {
  column: string;
}

function daysAsEnd({ database, request }: Needs<'database', 'request'>): DayAsEnd[] {
  const received = new Set(receivedFields(request ?? {}).map(({ value }) => value));
  return readsOf(database).flatMap((read) => {
    const column = dayAsEnd(read, received);
    return column === null ? [] : [{ ...read, column }];
  });
}

/** What has each of the columns with a time of day: a row, else a statement, else the response. */
function timesOfDayIn(columns: ReadonlySet<string>, { request, database }: Partial<Kept>) {
  const wanted = Array.from(columns, (column) => ({ column, name: sameName(column) }));
  const found = new Map<string, string>();
  const look = (what: string, name: string, value: unknown): void => {
    if (typeof value !== 'string' || !IN_DAY.test(value)) return;
    const same = sameName(name);
    // `Receipt_paid_at` of TypeORM.
    for (const one of wanted)
      if (same.endsWith(one.name) && !found.has(one.column)) found.set(one.column, what);
  };
  const queries = database?.queries ?? [];
  for (const query of queries)
    for (const row of foundRows(query))
      for (const [name, value] of Object.entries(row)) look('a row', name, value);
  for (const { bindings } of queries)
    for (const { name, value } of bindings) look('a statement', name, value);
  for (const { name, value } of leavesIn(request?.response?.text ?? '')) look('the response', name, value);
  return found;
}

const lastDayLeftOut: Rule<Needs<'database', 'request'>> = {
  name: 'last-day-left-out',
  needs: ['database'],
  labels: ['last day'],
  why: 'BETWEEN or `<=` compares a column with a date as its end, which stands for the beginning of that day, although the column has times of day.',
  fix: 'Ask for everything before the next day: `starts_at >= $1 and starts_at < $2`, with the first day of the next month.',
  compares: (kept) => daysAsEnd(kept).length > 0,
  relates: (kept) => daysAsEnd(kept).length > 0,
  find(kept, _head, { earlier, siblings }) {
    const { database } = kept;
    const asked = daysAsEnd(kept);
    if (asked.length === 0) return [];
    const columns = new Set(asked.map(({ column }) => column));
    const seen = timesOfDayIn(columns, kept);
    for (const { head, kept: other } of [...earlier, ...siblings]) {
      const missing = [...columns].filter((column) => !seen.has(column));
      if (missing.length === 0) break;
      for (const [column, what] of timesOfDayIn(new Set(missing), other))
        seen.set(column, `${what} of an earlier request (${head.token})`);
    }
    return asked.flatMap(({ column, ...one }): FindingDraft[] => {
      const what = seen.get(column);
      if (what === undefined) return [];
      const sentence = `${labelOf(database, one.query)} asks for ${column} up to a date without a time, which is the beginning of that day, and ${what} has it with a time of day: what is later on the last day is not found`;
      return [draftAt(one, sentence, 'warn')];
    });
  },
};

const HOUR = 60;
const CLOCK = /\b([01]?\d|2[0-3]):([0-5]\d)\b/;

function minuteOf(value: Json | undefined): number | null {
  const [, hours, minutes] = CLOCK.exec(typeof value === 'string' ? value : '') ?? [];
  return hours === undefined ? null : Number(hours) * HOUR + Number(minutes);
}

/** Fewer moments are no series. */
const LEAST_MOMENTS = 3;
/** Midnights of UTC are days rather than times of day. */
const MOMENT = /^\d{4}-\d\d-\d\d[T ](?!00:00)\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\+00(?::?00)?)$/;

/** Whether moments follow each other in whole days of 24 hours. */
function areWholeDaysApart(moments: readonly string[]): boolean {
  const times = moments.map((moment) => Date.parse(moment));
  const step = (times[1] ?? NaN) - (times[0] ?? NaN);
  return (
    step > 0 &&
    step % DAY_MS === 0 &&
    times.every((time, at) => at === 0 || time - (times[at - 1] ?? 0) === step)
  );
}

/** Times of day that change once, by an hour. */
function hourChange(minutes: readonly (number | null)[]): { before: number; after: number } | null {
  const [before = null] = minutes;
  const after = minutes.at(-1) ?? null;
  if (before === null || after === null || Math.abs(after - before) !== HOUR) return null;
  const turn = minutes.indexOf(after);
  return minutes.every((one, at) => one === (at < turn ? before : after)) ? { before, after } : null;
}

function clockText(minute: number): string {
  return [Math.floor(minute / HOUR), minute % HOUR].map((part) => String(part).padStart(2, '0')).join(':');
}

interface Series {
  query: Query;
  index: number;
  moments: string[];
  count: number;
  isWritten: boolean;
}

function momentsIn(values: readonly (Json | undefined)[]): string[] {
  return values.filter((value) => typeof value === 'string').filter((value) => MOMENT.test(value));
}

/** The moments of one column, given to a statement, also run by run, or returned by it. */
function seriesIn({ queries }: Database): Series[] {
  const given = new Map<string, Series>();
  const returned: Series[] = [];
  queries.forEach((query, index) => {
    for (const { name, value } of query.bindings) {
      const [moment] = momentsIn([value]);
      if (moment === undefined) continue;
      const key = `${query.statement} ${name}`;
      const series = given.get(key) ?? { query, index, moments: [], count: 0, isWritten: true };
      series.moments.push(moment);
      series.count++;
      given.set(key, series);
    }
    const rows = foundRows(query);
    for (const name of Object.keys(rows[0] ?? {})) {
      const moments = momentsIn(rows.map((row) => row[name]));
      if (moments.length === rows.length)
        returned.push({ query, index, moments, count: query.rows ?? rows.length, isWritten: false });
    }
  });
  return [...given.values(), ...returned].filter(
    ({ moments }) => moments.length >= LEAST_MOMENTS && areWholeDaysApart(moments),
  );
}

/** The response's lists of times of day: the values of each name, or those of a page in their order. */
function sentClocks(request: KeptRequest): (number | null)[][] {
  const text = request.response?.text ?? '';
  if (isPage(text))
    return [
      [...pageText(text, text.length).matchAll(new RegExp(CLOCK, 'g'))].map(([clock]) => minuteOf(clock)),
    ];
  const leaves = leavesIn(text);
  const names = new Set(leaves.map(({ name }) => name));
  return [...names].map((name) =>
    leaves.filter((leaf) => leaf.name === name).map(({ value }) => minuteOf(value)),
  );
}

const ZONE = /^[A-Z][A-Za-z]+\/[A-Z][A-Za-z_+-]+(?:\/[A-Z][A-Za-z_]+)?$/;

/** Names of time zones that the request or a row has. */
function zonesIn({ request, database }: Needs<'database' | 'request'>): string[] {
  const rows = database.queries.flatMap((query) => foundRows(query)).flatMap((row) => Object.values(row));
  const values = [...receivedFields(request).map(({ value }) => value), ...rows];
  return [...new Set(values.filter((value) => typeof value === 'string'))].filter((value) =>
    ZONE.test(value),
  );
}

/** The time of day of each moment in a zone; empty if there is no such zone. */
function clocksIn(zone: string, moments: readonly string[]): (number | null)[] {
  try {
    const clock = new Intl.DateTimeFormat('en-GB', { timeZone: zone, timeStyle: 'short' });
    return moments.map((moment) => minuteOf(clock.format(Date.parse(moment))));
  } catch {
    return [];
  }
}

/** `2026-10-07T18:00`, which names no zone. */
const WALL = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?$/;
const MINUTE_MS = 60_000;
const MOST_AHEAD = 14 * HOUR;
const DAY_MINUTES = 24 * HOUR;

/** Minutes that the first moment of a series is behind the time that its request received; null: it received none. */
function offsetOf({ moments: [first = ''] }: Series, request: KeptRequest): number | null {
  const offsets = receivedFields(request).flatMap(({ value }) =>
    typeof value === 'string' && WALL.test(value)
      ? [(Date.parse(`${value.replace(' ', 'T')}Z`) - Date.parse(first)) / MINUTE_MS]
      : [],
  );
  return offsets.find((offset) => Math.abs(offset) <= MOST_AHEAD && offset % 15 === 0) ?? null;
}

interface Shown {
  query: Query;
  index: number;
  moments: string[];
}

/** Columns of moments that a statement returned, and the times of day in the response. */
function shownIn({ database, request }: Needs<'database' | 'request'>): {
  all: Shown[];
  clocks: Set<number>;
} {
  const text = request.response?.text ?? '';
  const clocks = new Set(
    Array.from(text.matchAll(new RegExp(CLOCK, 'g')), ([clock]) => minuteOf(clock) ?? -1),
  );
  if (clocks.size === 0) return { all: [], clocks };
  const all = database.queries.flatMap((query, index) => {
    const rows = foundRows(query);
    return Object.keys(rows[0] ?? {}).flatMap((name) => {
      const moments = momentsIn(rows.map((row) => row[name]));
      return moments.length === 0 ? [] : [{ query, index, moments }];
    });
  });
  return { all, clocks };
}

/** A moment that another request wrote, a whole number of days after a time that it received, is shown an hour off. */
function movedSinceWritten(
  kept: Needs<'database' | 'request'>,
  others: readonly OtherRequest[],
): FindingDraft[] {
  const { all, clocks } = shownIn(kept);
  for (const { head, kept: other } of all.length === 0 ? [] : others) {
    const { database, request } = other;
    if (database === undefined || request === undefined || (head.status ?? 500) >= 400) continue;
    for (const series of seriesIn(database)) {
      const offset = series.isWritten ? offsetOf(series, request) : null;
      if (offset === null) continue;
      const clockAt = (moment: string, ahead: number): number =>
        (((Date.parse(moment) / MINUTE_MS + ahead) % DAY_MINUTES) + DAY_MINUTES) % DAY_MINUTES;
      const before = clockAt(series.moments[0] ?? '', offset);
      const written = new Set(series.moments.map((moment) => Date.parse(moment)));
      for (const shown of all) {
        const moment = shown.moments.find((one) => written.has(Date.parse(one)));
        const ahead = [offset - HOUR, offset + HOUR].find((one) =>
          shown.moments.every((each) => clocks.has(clockAt(each, one))),
        );
        if (moment === undefined || ahead === undefined || clocks.has(before)) continue;
        const day = (one = ''): string => one.slice(0, 10);
        const sentence = `${labelOf(kept.database, shown.query)} returned ${day(moment)} ${clockText(clockAt(moment, ahead))}: ${requestText(head)} received ${clockText(before)} for ${day(series.moments[0])}, and wrote ${count(series.count, 'moment')} that are whole days of 24 hours apart. The clocks changed in between`;
        const draft = draftAt({ query: shown.query, index: shown.index }, sentence, 'bad');
        return [{ ...draft, broke: 'response', place: series.query.caller }];
      }
    }
  }
  return [];
}

const hourMoved: Rule<Needs<'database' | 'request'>> = {
  name: 'hour-moved',
  needs: ['database', 'request'],
  labels: ['hour moved'],
  why: 'The moments of a statement, or those that an earlier request wrote, are whole days of 24 hours apart. In the response, or in a time zone that the request or a row names, their time of day changes by an hour.',
  fix: 'Add days in the time zone of the place, not to the moment in UTC: `dayjs.tz(…).add(1, "week")`, `DateTime.plus({ weeks: 1 })` of Luxon, or Temporal’s `ZonedDateTime`.',
  relates: (kept) => shownIn(kept).all.length > 0,
  find(kept, _head, { siblings }) {
    const { database, request } = kept;
    const all = seriesIn(database);
    if (all.length === 0) return movedSinceWritten(kept, siblings);
    const sent = sentClocks(request);
    const zones = zonesIn(kept);
    const [found] = all.flatMap((series) => {
      const { moments, count, isWritten } = series;
      const shown = sent.filter((list) => list.length === count).flatMap((list) => hourChange(list) ?? []);
      const local = zones.flatMap((zone) => {
        const change = isWritten ? hourChange(clocksIn(zone, moments)) : null;
        return change === null ? [] : [{ ...change, zone }];
      });
      const [change] = [...shown.map((one) => ({ ...one, zone: null })), ...local];
      return change === undefined ? [] : [{ ...series, ...change }];
    });
    if (found === undefined) return movedSinceWritten(kept, siblings);
    const { query, isWritten, count, before, after, zone } = found;
    const where = zone === null ? '' : ` in ${zone}`;
    const sentence = `${labelOf(database, query)} ${isWritten ? 'got' : 'returned'} ${count} moments that are whole days of 24 hours apart, so the time of day${where} moved from ${clockText(before)} to ${clockText(after)} when the clocks changed`;
    return [draftAt(found, sentence, 'bad')];
  },
};

/** With points, the day comes first. */
const DAY_FIRST = /^\s*(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})\s*$/;

/** The days that a bound text may stand for: a midnight of the east is a moment of the day before in UTC. */
function daysOf(value: Json | undefined): string[] {
  const [, day = '', time] =
    /^(\d{4}-\d\d-\d\d)(?:$|([T ]))/.exec(typeof value === 'string' ? value : '') ?? [];
  if (Number.isNaN(Date.parse(day))) return [];
  return time === undefined ? [day] : [day, new Date(Date.parse(day) + DAY_MS).toISOString().slice(0, 10)];
}

const monthFirst: Rule<Needs<'database' | 'request'>> = {
  name: 'month-first',
  needs: ['database', 'request'],
  labels: ['day and month'],
  why: 'The request sent a date with points, such as 04.03.2025, in which the day comes first. A statement got the date with day and month exchanged, and none got the right one.',
  fix: "Read the text with its format: `dayjs.extend(customParseFormat)` before `dayjs(text, 'DD.MM.YYYY', true)`, which without the plugin ignores the format. `new Date(text)` takes the month first.",
  find({ database, request }) {
    const dates = receivedFields(request).flatMap(({ name, value }) => {
      const parts = DAY_FIRST.exec(typeof value === 'string' ? value : '');
      return parts === null ? [] : [{ name, parts }];
    });
    if (dates.length === 0) return [];
    const bound = database.queries.flatMap((query, index) =>
      query.bindings.map(({ value }) => ({ query, index, days: daysOf(value) })),
    );
    return dates.flatMap(({ name, parts: [sent, day = '', month = '', year = ''] }): FindingDraft[] => {
      const dated = (one: string, two: string): string =>
        `${year}-${one.padStart(2, '0')}-${two.padStart(2, '0')}`;
      const [right, exchanged] = [dated(month, day), dated(day, month)];
      const found = bound.find(({ days }) => days.includes(exchanged));
      if (right === exchanged || found === undefined) return [];
      if (bound.some(({ days }) => days.includes(right))) return [];
      const sentence = `${labelOf(database, found.query)} got ${exchanged} for ${excerpt(name, 40)} ${sent}: day and month are exchanged, ${right} was sent`;
      return [draftAt(found, sentence, 'bad')];
    });
  },
};

/** With its zone and milliseconds, as code computes it; a whole second may well be a setting. */
const COMPUTED = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\.(?!000)\d{3} ?(?:Z|[+-]\d\d:?\d\d)$/;
const FIRST_EPOCH = 1e12;
const LAST_EPOCH = 2e12;

function computedMs(value: Json): number | null {
  if (typeof value === 'string' && COMPUTED.test(value)) return Date.parse(value.replace(/ (?=[+-])/, ''));
  const isEpoch = Number.isInteger(value) && Number(value) > FIRST_EPOCH && Number(value) < LAST_EPOCH;
  return isEpoch && Number(value) % 1000 !== 0 ? Number(value) : null;
}

/** A younger value may come from another clock. */
const LEAST_AGE_MS = 1000;
/** Modules are loaded in this time. */
const LOADING_MS = 2000;
/** A process may well write when it started. */
const OF_START = /start|boot|launch|deploy|process|instance|server|uptime|version|release/i;

interface OldMoment extends Read {
  name: string;
  ms: number;
}

/** Moments that an INSERT bound and that nothing in the request gave it; `before`: of the request's start. */
function oldMoments(kept: Partial<Kept>, before: number): OldMoment[] {
  const { request, database, http_client: client, cache } = kept;
  const old = readsOf(database).flatMap((one) =>
    one.read.verb !== 'insert'
      ? []
      : one.query.bindings.flatMap(({ name, value }): OldMoment[] => {
          const ms = computedMs(value);
          return ms === null || ms > before - LEAST_AGE_MS || OF_START.test(name)
            ? []
            : [{ ...one, name, ms }];
        }),
  );
  if (old.length === 0) return [];
  const around = JSON.stringify([{ ...request, response: null }, client?.calls, cache?.items]);
  return old.filter(({ index, ms }) => {
    const read = database?.queries.slice(0, index).flatMap((query) => foundRows(query)) ?? [];
    const all = around + JSON.stringify(read);
    const [day = '', time = ''] = new Date(ms).toISOString().split(/[TZ]/);
    return !all.includes(String(ms)) && !(all.includes(day) && all.includes(time));
  });
}

const momentMadeOnce: Rule<Needs<'database' | 'request', 'http_client' | 'cache'>> = {
  name: 'moment-made-once',
  needs: ['database', 'request'],
  labels: ['made once'],
  why: 'An INSERT bound a moment that is at least 1 s older than the request, which neither received nor read it. An earlier request bound the same millisecond for the column, or it is within 2 s of the process’s start.',
  fix: 'Compute it for each row: `default(() => new Date())` in place of `default(new Date())`, `defaultValue: DataTypes.NOW`, or `default now()` in the database. A value in a module’s body is computed once, when it is loaded.',
  compares: (kept, { startedAt }) => oldMoments(kept, startedAt).length > 0,
  find(kept, { startedAt }, { earlier, shared }) {
    const { database } = kept;
    const { process = [] } = (shared.configuration ?? {}) as Partial<ConfigurationData>;
    const loadedAt = Date.parse(String(process.find(({ name }) => name === 'startedAt')?.value));
    const seen = new Set<string>();
    return oldMoments(kept, startedAt).flatMap((one): FindingDraft[] => {
      const { name, ms, read } = one;
      const before = earlier.find(({ head, kept: other }) =>
        oldMoments(other, head.startedAt).some(
          (same) => same.ms === ms && same.name === name && same.read.table === read.table,
        ),
      );
      const isAtStart = ms >= loadedAt && ms <= loadedAt + LOADING_MS;
      if ((before === undefined && !isAtStart) || seen.has(name)) return [];
      seen.add(name);
      const clock = new Date(ms).toISOString().slice(11, 23);
      const age = duration(startedAt - ms);
      const same =
        before === undefined
          ? `${duration(ms - loadedAt)} after the process started`
          : `the same as in ${requestText(before.head)}`;
      const sentence = `${labelOf(database, one.query)} wrote ${excerpt(name, 40)} as ${clock}, ${age} before this request began and ${same}: it was computed once, not for each request`;
      return [draftAt(one, sentence, 'bad')];
    });
  },
};

export const dateRules: readonly Rule[] = [dayMoved, lastDayLeftOut, hourMoved, monthFirst, momentMadeOnce];
