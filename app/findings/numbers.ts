/** Numbers that were joined or compared as texts, or lost digits. */
import { escapeRegExp } from '../profiler/escape-regexp.ts';
import { foundRows } from '../panels/shared/found-rows.ts';
import type { KeptRequest } from '../panels/request/data.ts';
import { sameName } from '../panels/shared/compare-values.ts';
import { leavesIn, leavesOf, objectsIn, parseBeginning } from '../panels/shared/json-leaves.ts';
import { givenValue } from '../panels/shared/read-statement.ts';
import { numbersAsText } from '../panels/shared/number-as-text.ts';
import { comparedAsText, valuesByName } from '../panels/shared/compared-as-text.ts';
import { frameLine } from '../profiler/record/thrown.ts';
import { receivedFields } from '../panels/shared/received.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { groupBy } from '../profiler/group-by.ts';
import type { Json } from '../profiler/json.ts';
import { callName } from './shared/calls.ts';
import { sentHeader } from './shared/http.ts';
import type { Database, Kept, Needs, Rule } from './shared/kept.ts';
import { draftAt, isWrite, labelOf, type Read, readsOf, textOf } from './shared/queries.ts';
import { isSlow } from './shared/statement-reasons.ts';
import { packagesIn } from './shared/packages.ts';
import { bracketed, count, excerpt } from './shared/wording.ts';
import { maskedType } from '../profiler/masking/redact.ts';

const NUMBER = /^-?\d+(?:\.\d+)?$/;
const SMALLEST = 1e-6;
/** Of a field that is the sum of others. */
const OF_SUM = /total|sum|amount|gross|balance/i;
/** `{ limit: "12", offset: 0, total: "120" }` is no sum. */
const OF_PAGES = /^(?:page|limit|offset|skip|per|size|count)/i;

/** Two numbers that were added, of which one is a text: the result has two points, or the name of a sum. */
function joinedNumbers(object: Record<string, Json>): { name: string; parts: string[] } | null {
  const numbers = Object.entries(object).filter(
    (entry): entry is [string, string | number] =>
      typeof entry[1] === 'number' || (typeof entry[1] === 'string' && NUMBER.test(entry[1])),
  );
  for (const [name, value] of Object.entries(object)) {
    if (typeof value !== 'string' || !/^-?\d+(?:\.\d+){0,2}$/.test(value)) continue;
    const hasTwoPoints = /\..*\./.test(value);
    if (!hasTwoPoints && !OF_SUM.test(name)) continue;
    const parts = hasTwoPoints ? numbers : numbers.filter(([part]) => !OF_PAGES.test(part));
    for (const [one, first] of parts) {
      const other = parts.find(
        ([own, second]) =>
          own !== one && (hasTwoPoints || typeof first !== typeof second) && `${first}${second}` === value,
      )?.[0];
      if (other !== undefined) return { name, parts: [one, other] };
    }
  }
  return null;
}

const numbersJoined: Rule<Needs<'request', 'database' | 'routing'>> = {
  name: 'numbers-joined',
  needs: ['request'],
  labels: ['joined numbers'],
  why: 'A text of the response is two numbers of the same object, one of them a text, written one behind the other; it has two decimal points, or its name is that of a sum.',
  fix: 'Convert both before you add them (`Number(row.price) + Number(row.shipping)`), or count in cents: drivers return `numeric` and `decimal` as text.',
  find({ request, routing, database }) {
    for (const object of objectsIn(parseBeginning(request.response?.text ?? '')?.value ?? null)) {
      const found = joinedNumbers(object);
      if (found === null) continue;
      const [one = '', other = ''] = found.parts.map((part) => excerpt(part, 40));
      const sentence = `${excerpt(found.name, 40)} was sent as the texts of ${one} and ${other}, one behind the other: they were joined, not added`;
      const place = routing?.route?.source ?? database?.queries[0]?.caller;
      return [{ broke: 'response', severity: 'bad', sentence, anchor: 'response', place }];
    }
    return [];
  },
};

/** Names of parameters that a next page is computed from. */
const OF_PAGE = /^(?:page|p|pageno|pagenumber|pageindex|currentpage)$/;
const OF_OFFSET = /^(?:offset|skip|start)$/;
const USUAL_LIMITS = ['10', '20', '25', '50', '100'];

/** What `+` makes of a received number that is a text: 1, or the size of a page, written behind it. */
function joinedWith({ name, value }: { name: string; value: Json }, sizes: readonly string[]): string[] {
  if (typeof value !== 'string' || !/^\d{1,9}$/.test(value)) return [];
  const behind = OF_PAGE.test(sameName(name)) ? ['1'] : OF_OFFSET.test(sameName(name)) ? sizes : [];
  return behind.map((number) => value + number);
}

/** Texts of the response that name the next page: its number, or its address. */
function nextTexts(request: KeptRequest): { name: string; text: string }[] {
  const link = sentHeader(request, 'link')?.value ?? '';
  const [, next] = /<([^<>]*)>\s*;\s*rel="?next\b/.exec(link) ?? [];
  const leaves = leavesIn(request.response?.text ?? '');
  return [
    ...(next === undefined ? [] : [{ name: 'the header Link', text: next }]),
    ...leaves.flatMap(({ path, name, value }) =>
      typeof value === 'string' && /(?:^|\.)next/i.test(path) ? [{ name, text: value }] : [],
    ),
  ];
}

const nextPageJoined: Rule<Needs<'request', 'routing'>> = {
  name: 'next-page-joined',
  needs: ['request'],
  labels: ['joined page'],
  why: 'The response names the next page by the received number with a digit, or the size of a page, written behind it.',
  fix: 'Convert the parameter before you add to it: `Number(req.query.page) + 1`, or a pipe such as `ParseIntPipe`. A parameter is a text, and `"2" + 1` is `"21"`.',
  find({ request, routing }) {
    const { query } = request;
    const sizes = [...USUAL_LIMITS, ...query.map(({ value }) => value)].filter((text) =>
      /^\d{1,4}$/.test(text),
    );
    const next = nextTexts(request);
    return query.slice(0, 50).flatMap((parameter): FindingDraft[] => {
      const { name } = parameter;
      const joined = joinedWith(parameter, sizes);
      const found = next.find(({ text }) => {
        const [, inAddress = text] = new RegExp(`[?&]${escapeRegExp(name)}=(\\d+)(?:&|$)`).exec(text) ?? [];
        return joined.includes(inAddress);
      });
      if (found === undefined) return [];
      const handler = routing?.route?.handler ?? '';
      const by = /^\w+\.\w+$/.test(handler) ? ` (${handler})` : '';
      const sentence = `${excerpt(found.name, 40)} has the received ${excerpt(name, 40)} with a number written behind it, not added to it: a parameter is a text${by}`;
      return [
        { broke: 'response', severity: 'bad', sentence, anchor: 'response', place: routing?.route?.source },
      ];
    });
  },
};

/** An id of a JSON text, with digits that not every number of JavaScript can have. */
const LONG_ID = /"((?:\w+_)?id|\w*[a-z]I[dD])"\s*:\s*("?)(\d{16,20})\2(?=\s*[,}\]])/g;
/** Of any name: its rounded value in a later step is no chance. */
const LONG_NUMBER = /"([^"\\]{1,60})"\s*:\s*()(\d{16,20})(?=\s*[,}\]])/g;
const ID = /^(?:\w+_)?id$|[a-z]I[dD]$/;

type WithCalls = Needs<'request', 'database' | 'http_client' | 'routing'>;

interface LongId {
  name: string;
  digits: string;
  isText: boolean;
  /** As JavaScript prints a number above 2^53: the digits behind the 17th or so are zeros. */
  isRounded: boolean;
}

function longIdsIn(text: string, pattern = LONG_ID): LongId[] {
  return Array.from(text.matchAll(pattern), ([, name = '', quote, digits = '']) => ({
    name,
    digits,
    isText: quote !== '',
    isRounded: String(Number(digits)) === digits,
  }));
}

/** With fewer, the last digits of a rounded number are no zeros. */
const FEWEST_DIGITS = 18;

/** Ids of the response that were numbers of JavaScript; none if a single text may end in zeros by chance. */
function roundedIds({ response }: KeptRequest): LongId[] {
  const ids = longIdsIn(response?.text ?? '').filter(({ digits }) => digits.length >= FEWEST_DIGITS);
  if (!ids.every(({ isRounded }) => isRounded)) return [];
  return ids.some(({ isText }) => !isText) || new Set(ids.map(({ digits }) => digits)).size > 1 ? ids : [];
}

/** A call responded with an id that is no number of JavaScript, and later steps have the nearest one instead. */
function roundedOnTheWay({ database, http_client: client, request }: WithCalls): FindingDraft[] {
  const calls = client?.calls ?? [];
  const last = [
    ...(database?.queries ?? []).flatMap(({ bindings }) => bindings.map(({ value }) => textOf(value) ?? '')),
    request.response?.text ?? '',
  ];
  return calls.flatMap((call, index): FindingDraft[] => {
    const text = call.responseBody?.text ?? '';
    const later = calls.slice(index + 1).map(({ url, requestBody }) => `${url} ${requestBody?.text ?? ''}`);
    const uses = (digits: string): boolean => [...later, ...last].some((one) => one.includes(digits));
    const lost = longIdsIn(text, LONG_NUMBER).find(
      ({ digits, isRounded }) =>
        !isRounded && !uses(digits) && !text.includes(String(Number(digits))) && uses(String(Number(digits))), // prettier-ignore
    );
    if (lost === undefined) return [];
    const sentence = `${callName(call)} responded with a number above 2^53 for ${excerpt(lost.name, 40)}; JSON.parse rounded it, and later steps have another id`;
    return [{ broke: 'unseen', severity: 'bad', sentence, panel: 'http_client', anchor: `c${index + 1}`, place: call.caller }]; // prettier-ignore
  });
}

/** A statement looked for an id that was received as JavaScript prints a rounded number, and found no row. */
function roundedBefore({ database, request }: WithCalls): FindingDraft[] {
  if (database === undefined) return [];
  const rounded = receivedFields(request).flatMap(({ name, value }) => {
    const digits = String(value);
    const isLong = /^\d{18,20}$/.test(digits) && ID.test(name);
    return isLong && String(Number(digits)) === digits ? [{ name, digits }] : [];
  });
  return readsOf(database).flatMap((one): FindingDraft[] => {
    if (one.read.verb !== 'select' || one.query.rows !== 0) return [];
    const id = rounded.find(({ digits }) => one.query.bindings.some(({ value }) => textOf(value) === digits));
    if (id === undefined) return [];
    const sentence = `${labelOf(database, one.query)} found no row for ${excerpt(id.name, 40)} ${id.digits}, which ends as JavaScript prints a number above 2^53: whoever sent it had read the id as a number`;
    return [draftAt(one, sentence, 'warn')];
  });
}

/** Driver -> how it keeps a long number. The first whose package is there; an ORM has its driver beside it. */
const KEEPS_DIGITS: Readonly<Record<string, readonly (readonly [name: string, advice: string])[]>> = {
  postgresql: [
    ['postgres', 'leave bigint as text in the types of postgres.js'],
    ['pg', 'leave bigint as text, without setTypeParser(20, …) of pg'],
  ],
  mysql: [
    ['mysql2', 'set supportBigNumbers and bigNumberStrings of mysql2'],
    ['mysql', 'set supportBigNumbers and bigNumberStrings of mysql'],
  ],
  sqlite: [
    ['better-sqlite3', 'call safeIntegers() of better-sqlite3'],
    ['', 'call setReadBigInts(true) of node:sqlite'],
  ],
};

function driverAdvice(system: string | undefined, configuration: unknown): string {
  const names = packagesIn(configuration);
  const advice = KEEPS_DIGITS[system ?? '']?.find(([name]) => name === '' || names.includes(name))?.[1];
  return advice === undefined ? '' : `; ${advice}`;
}

/** The statement that returned one of these ids. */
function sourceOf(
  database: Database | undefined,
  ids: readonly (string | null)[],
): Omit<Read, 'read'> | undefined {
  const digits = new Set(ids);
  const index = (database?.queries ?? []).findIndex((query) =>
    foundRows(query).some((row) => Object.values(row).some((value) => digits.has(textOf(value) ?? ''))),
  );
  const query = database?.queries[index];
  return query === undefined ? undefined : { query, index };
}

const digitsLost: Rule<WithCalls> = {
  name: 'digits-lost',
  needs: ['request'],
  labels: ['digits lost'],
  why: 'A statement got an id above 2^53 as a JavaScript number, or a later step has the id of a call’s response rounded. Or ids of 18 or more digits, received or sent, end in zeros, as JavaScript prints a rounded number.',
  fix: 'Keep long ids as text: `types` of postgres.js, no `setTypeParser(20, …)` of `pg`, `supportBigNumbers` and `bigNumberStrings` of `mysql2`, or a JSON parser that reads long numbers as BigInt (`json-bigint`).',
  find(kept, _head, { shared }) {
    const { request, database, http_client: client, routing } = kept;
    for (const [index, query] of (database?.queries ?? []).entries()) {
      const long = query.bindings.find(
        ({ name, value }) => ID.test(name) && Number.isInteger(value) && !Number.isSafeInteger(value),
      );
      if (long === undefined || query.error !== null || database === undefined) continue;
      const what = `${labelOf(database, query)} was sent a JavaScript number above 2^53 for ${excerpt(long.name, 40)}`;
      const lost = 'which can’t hold its last digits';
      const { system } = database.statements[query.statement] ?? {};
      const advice = driverAdvice(system, shared.configuration);
      const fix = advice === '' ? {} : { fix: `Read long ids as text${advice}.` };
      const source = sourceOf({ ...database, queries: database.queries.slice(0, index) }, [
        textOf(long.value),
      ]);
      if (source === undefined) return [{ ...draftAt({ query, index }, `${what}, ${lost}`, 'bad'), ...fix }];
      const end = query.rows === 0 ? ', and found no row' : '';
      const sentence = `${labelOf(database, source.query)} returned an id as a JavaScript number above 2^53, ${lost}: ${labelOf(database, query)}${bracketed(query.caller)} was sent it for ${excerpt(long.name, 40)}${end}`;
      return [{ ...draftAt(source, sentence, 'bad'), ...fix }];
    }
    const ids = roundedIds(request);
    const [first] = ids;
    if (first === undefined) return [...roundedOnTheWay(kept), ...roundedBefore(kept)];
    const calls = client?.calls ?? [];
    const found = calls.findIndex(({ responseBody }) =>
      longIdsIn(responseBody?.text ?? '').some(
        ({ digits, isRounded }) => !isRounded && ids.some((id) => id.digits === String(Number(digits))),
      ),
    );
    const call = calls[found] ?? (calls.length === 1 ? calls[0] : undefined);
    const many = count(ids.length, 'value');
    const name = excerpt(first.name, 40);
    const source =
      found === -1
        ? sourceOf(
            database,
            ids.map(({ digits }) => digits),
          )
        : undefined;
    if (source !== undefined && database !== undefined) {
      const { system } = database.statements[source.query.statement] ?? {};
      const advice = driverAdvice(system, shared.configuration);
      const sentence = `${labelOf(database, source.query)} returned ${name} as a JavaScript number, which can’t hold an integer above 2^53: ${many} in the response lost the last digits${advice}`;
      return [{ ...draftAt(source, sentence, 'bad'), broke: 'response' }];
    }
    const from = found === -1 || call === undefined ? '' : `; ${callName(call)} responded with all of them`;
    const sentence = `${many} of ${name} in the response lost the last digits: a JavaScript number can’t hold an integer above 2^53${from}`;
    const place = call?.caller ?? routing?.route?.source ?? database?.queries[0]?.caller;
    return [{ broke: 'response', severity: 'bad', sentence, anchor: 'response', place }];
  },
};

/** Of as few rows as are recorded, the one that is first or last among texts, but not among numbers, nor in the order of the rows. */
function pickedAsText(texts: readonly string[], sent: number): 'greatest' | 'least' | null {
  const numbers = texts.map(Number);
  const isAtEdge = sent === numbers[0] || sent === numbers.at(-1);
  if (numbers.length < 3 || isAtEdge) return null;
  const sorted = texts.toSorted();
  if (sent === Number(sorted.at(-1)) && sent < Math.max(...numbers)) return 'greatest';
  return sent === Number(sorted[0]) && sent > Math.min(...numbers) ? 'least' : null;
}

interface NumberText {
  column: string;
  text: string;
  /** Of the statement that returned it first. */
  index: number;
}

/** Numbers as texts in the rows, each once. */
function numberTexts({ queries }: Database): NumberText[] {
  const texts = new Map<string, NumberText>();
  queries.forEach((query, index) => {
    for (const row of foundRows(query))
      for (const [column, text] of Object.entries(row))
        if (typeof text === 'string' && NUMBER.test(text) && !texts.has(`${column} ${text}`))
          texts.set(`${column} ${text}`, { column, text, index });
  });
  return [...texts.values()];
}

function roundedKey(number: number): number {
  return Math.round(number / SMALLEST);
}

/** A negative number that a statement wrote: the difference of two texts, of which the first is the greater among texts. */
function overdraft(database: Database): FindingDraft[] {
  const written = readsOf(database).flatMap((one) =>
    (isWrite(one) ? one.query.bindings : []).flatMap(({ name, value }) => {
      const number = typeof value === 'string' && NUMBER.test(value) ? Number(value) : value;
      return typeof number === 'number' && number < 0 ? [{ ...one, name, number }] : [];
    }),
  );
  const texts = written.length === 0 ? [] : numberTexts(database);
  const byNumber = groupBy(texts, ({ text }) => roundedKey(Number(text)));
  return written.flatMap(({ name, number, ...one }): FindingDraft[] => {
    for (const from of texts) {
      if (from.index >= one.index) break;
      const less = byNumber
        .get(roundedKey(Number(from.text) - number))
        ?.find(({ text, index }) => index < one.index && from.text > text);
      if (less === undefined) continue;
      const sentence = `${labelOf(database, one.query)} wrote a negative ${excerpt(name, 40)}: ${excerpt(from.column, 40)} less ${excerpt(less.column, 40)}. Both were returned as texts, and among texts the first is the greater`;
      return [draftAt(one, sentence, 'bad')];
    }
    return [];
  });
}

/** A function that throws for others is one of the first. */
const MOST_FRAMES = 3;

/** The line that threw, or one that led there, stands behind a comparison that holds for texts only. */
function thrownByText(kept: Partial<Kept>): FindingDraft[] {
  const errors = kept.exception?.errors ?? [];
  const values = errors.length === 0 ? new Map<string, never>() : valuesByName(kept);
  return errors.flatMap(({ thrown: { chain } }, index): FindingDraft[] => {
    for (const frame of (chain[0]?.frames ?? []).filter(({ kind }) => kind === 'own').slice(0, MOST_FRAMES)) {
      const { excerpt: source, line } = frame;
      const compared = source === null || line === null ? null : comparedAsText(source, line, values);
      if (compared === null) continue;
      const sentence = `${excerpt(compared, 80)} compared two numbers as texts, and led to ${excerpt(chain[0]?.class ?? 'an error', 40)}: by number, it is false`;
      const anchor = `error-${index + 1}`;
      return [
        { broke: 'response', severity: 'bad', sentence, panel: 'exception', anchor, place: frameLine(frame) },
      ];
    }
    return [];
  });
}

const textCompared: Rule<Needs<'request', 'database' | 'cache' | 'http_client' | 'exception'>> = {
  name: 'text-compared',
  needs: ['request'],
  labels: ['compared as text'],
  why: 'The response has the row that is greatest or least by text, and not by number; a negative number was written, the difference of two texts; or the condition of a throw holds for two received or read numbers only as texts.',
  fix: 'Convert before you compare (`Number(a.amount) > Number(b.amount)`), sort in the statement (`order by amount desc limit 1`), or count in cents: drivers, Redis and forms give texts, and "950" is greater than "1100".',
  find(kept) {
    const { request, database } = kept;
    const thrown = thrownByText(kept);
    if (database === undefined || thrown.length > 0) return thrown.slice(0, 1);
    const leaves = groupBy(leavesIn(request.response?.text ?? ''), ({ name }) => sameName(name));
    const picked = database.queries.flatMap((query, index) => {
      const found = foundRows(query);
      const [first = {}] = found;
      if (found.length !== query.rows) return [];
      return Object.keys(first).flatMap((column): FindingDraft[] => {
        const texts = found.map((row) => row[column]).filter((text) => typeof text === 'string');
        const sent = leaves.get(sameName(column)) ?? [];
        if (texts.length !== found.length || sent.length !== 1 || !texts.every((text) => NUMBER.test(text)))
          return [];
        const edge = pickedAsText(texts, Number(sent[0]?.value));
        if (edge === null) return [];
        const sentence = `The response has the ${edge} ${excerpt(column, 40)} of ${labelOf(database, query)} by its text; by number, another row has it`;
        return [{ ...draftAt({ query, index }, sentence, 'bad'), broke: 'response' }];
      });
    });
    return [...picked, ...overdraft(database)];
  },
};

/** Columns that an update compares by itself, and those of who may see a row. */
const VERSION = /(?:version|revision|^rev|etag)$/;
const OF_OWNER = /^(?:user|owner|author|creator|customer|member|account|tenant)id$|^(?:created|owned)by$/;

/** The last read before a refusal found what was received, as text. */
function refusedEqual(
  { request, database, http_client: client }: Needs<'request' | 'database', 'http_client'>,
  status: number,
) {
  const reads = readsOf(database);
  const one = reads.at(-1);
  const isLast = (client?.calls ?? []).every(({ startMs }) => startMs < (one?.query.startMs ?? 0));
  if (one === undefined || !isLast || !reads.every(({ read }) => read.verb === 'select')) return null;
  const body = receivedFields(request).filter(({ from }) => from === 'body');
  const user = leavesOf(request.sessionAndUser?.user ?? null).filter(({ name }) => name === 'id');
  const given = { query: one.query, queries: database.queries };
  const [found] =
    status === 403
      ? numbersAsText(user, given, (_name, column) => OF_OWNER.test(sameName(column)))
      : numbersAsText(body, given, (name, column) => {
          const plain = sameName(column);
          return VERSION.test(plain) && sameName(name).endsWith(plain);
        });
  return found === undefined ? null : { ...found, name: status === 403 ? 'user.id' : found.name, one };
}

const neverEqual: Rule<Needs<'request' | 'database', 'http_client'>> = {
  name: 'never-equal',
  needs: ['request', 'database'],
  labels: ['number and text'],
  why: 'The last read before a 409, 412 or 403 found in a column for versions the number of the JSON body, or in one for owners that of `req.user.id`, but as text. No statement compared it, and nothing was written.',
  fix: 'Convert before you compare: `Number(row.revision) !== revision`. Drivers return BIGINT as text so that no digit is lost, and `"4" !== 4` is always true. Or let the database compare: `where revision = $1`.',
  find(kept, { status }) {
    if (status !== 409 && status !== 412 && status !== 403) return [];
    const found = refusedEqual(kept, status);
    if (found === null) return [];
    const { name, column, one } = found;
    const from = name === 'user.id' ? 'is' : 'was received as';
    const at = kept.request.response?.sentFrom;
    const sent = `${status}${at === undefined ? '' : ` at ${at}`}`;
    const sentence = `${excerpt(name, 40)} ${from} a number, and ${labelOf(kept.database, one.query)} returned the same as text in ${excerpt(column, 40)}, as drivers return BIGINT: === is false for them. The response was ${sent}`;
    return [
      status === 403
        ? draftAt(one, sentence, 'warn')
        : { ...draftAt(one, sentence, 'bad'), broke: 'response' },
    ];
  },
};

function isNumber(value: Json | undefined): boolean {
  return typeof value === 'number' || maskedType(value) === 'number';
}

/** Statements of this request returned texts in columns of these names. */
function textColumns({ queries }: Database): Set<string> {
  const values = queries.flatMap((query) => foundRows(query).flatMap((row) => Object.entries(row)));
  const ofNumbers = new Set(
    values.filter(([, value]) => isNumber(value)).map(([column]) => sameName(column)),
  );
  return new Set(
    values
      .filter(([, value]) => typeof value === 'string' && !isNumber(value))
      .map(([column]) => sameName(column))
      .filter((column) => !ofNumbers.has(column)),
  );
}

const numberForText: Rule<Needs<'database'>> = {
  name: 'number-for-text',
  needs: ['database'],
  labels: ['number for text'],
  why: 'A statement of MySQL or MariaDB compares a column with a number, and another statement of the request returned text in a column of this name. The database then converts the column of each row and can’t use its index.',
  fix: 'Bind a text: `[String(number)]`. An index on the column is of no use for a number, and a number also matches texts such as `0123` and `123abc`.',
  find({ database }) {
    const texts = textColumns(database);
    if (texts.size === 0) return [];
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const { query, read } = one;
      if (database.statements[query.statement]?.system !== 'mysql') return [];
      const compared = (read.where ?? []).find(
        ({ column, operator, values: [value], wrapped }) =>
          (operator === '=' || operator === 'in') &&
          wrapped === null &&
          value?.kind === 'bound' &&
          isNumber(givenValue(value, query.bindings)) &&
          texts.has(sameName(column)),
      );
      if (compared === undefined) return [];
      const severity = isSlow(query) ? 'bad' : 'warn';
      const sentence = `${labelOf(database, query)} compares ${excerpt(compared.column, 40)} with a number, but columns of this name hold texts: MySQL converts each row and uses no index on it`;
      return [draftAt(one, sentence, severity)];
    });
  },
};

export const numberRules: readonly Rule[] = [
  numberForText,
  numbersJoined,
  nextPageJoined,
  digitsLost,
  textCompared,
  neverEqual,
];
