/** Texts whose characters were lost, or that have one that nobody sees. */
import { foundRows } from '../panels/shared/found-rows.ts';
import type { KeptRequest } from '../panels/request/data.ts';
import { readAsUtf8 } from '../panels/shared/form-parts.ts';
import { leavesIn } from '../panels/shared/json-leaves.ts';
import { aboutStatement } from '../panels/shared/about-statement.ts';
import { givenValue } from '../panels/shared/read-statement.ts';
import { receivedFields } from '../panels/shared/received.ts';
import { escapeRegExp } from '../profiler/escape-regexp.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { mediaTypeOf } from '../profiler/http-text.ts';
import type { Json } from '../profiler/json.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { namedHeader } from '../profiler/record/raw-headers.ts';
import { callName, typeOf } from './shared/calls.ts';
import type { Call, Database, Needs, Query, Rule } from './shared/kept.ts';
import { draftAt, isWrite, kindOf, labelOf, readOf, readsOf, sqlOf } from './shared/queries.ts';
import { bracketed, count, excerpt } from './shared/wording.ts';

type Given = Needs<'request', 'database' | 'routing'>;

interface Text {
  name: string;
  value: string;
  at: number | null;
}

function textsOf(request: KeptRequest, database: Database | undefined): Text[] {
  const bound = (database?.queries ?? []).flatMap(({ bindings }, at) =>
    bindings.map(({ name, value }) => ({ name, value, at })),
  );
  const received = receivedFields(request).map(({ name, value }) => ({ name, value, at: null }));
  const files = (request.body?.files ?? []).map(({ name }) => ({
    name: 'the file’s name',
    value: name,
    at: null,
  }));
  return [...bound, ...files, ...received].filter((one): one is Text => typeof one.value === 'string');
}

const AT_START = /^\uFEFF/;

function textDraft({ at }: Pick<Text, 'at'>, sentence: string, { database, routing }: Given): FindingDraft {
  const query = database?.queries[at ?? -1];
  if (query !== undefined) return draftAt({ query, index: at ?? 0 }, sentence, 'warn');
  return { broke: 'unseen', severity: 'warn', sentence, place: routing?.route?.source };
}

/** A file whose mark stayed, if a parser read the names of its columns from it. */
function fileDraft({ request, routing }: Given, { status }: Pick<ProfileHead, 'status'>): FindingDraft[] {
  const file = request.body?.files.find(({ byteOrderMark: has }) => has === true);
  if (file === undefined || status === null || status < 400 || status >= 500) return [];
  const sentence = `The file ${excerpt(file.name, 40)} begins with a byte order mark (U+FEFF), and the request was refused with ${status}: if the mark is not removed, it is part of the name of the first column`;
  const place = request.response?.sentFrom ?? routing?.route?.source;
  return [{ broke: 'response', severity: 'warn', sentence, place }];
}

const byteOrderMark: Rule<Given> = {
  name: 'byte-order-mark',
  needs: ['request'],
  labels: ['byte order mark'],
  why: 'A name or a value that was received, bound or sent begins with the character U+FEFF, with which Windows marks files of text. Or a file begins with it, and the request was refused.',
  fix: 'Remove it where the file is read (`bom: true` of csv-parse, `text.replace(/^\\uFEFF/, "")`): it can’t be seen, and `row.sku` is not the field “U+FEFF sku”.',
  find(kept, head) {
    const { request, database } = kept;
    const sent = leavesIn(request.response?.text ?? '');
    const names: Text[] = [...receivedFields(request), ...sent].map(({ name }) => ({
      name,
      value: '',
      at: null,
    }));
    const found = [...textsOf(request, database), ...names].find(
      ({ name, value }) => AT_START.test(name) || AT_START.test(value),
    );
    if (found === undefined) return fileDraft(kept, head);
    const what = AT_START.test(found.name) ? 'The name' : 'The value of';
    const sentence = `${what} ${excerpt(found.name.replace(AT_START, ''), 40)} begins with a byte order mark (U+FEFF), which nobody sees`;
    return [textDraft(found, sentence, kept)];
  },
};

const readAsLatin: Rule<Given> = {
  name: 'read-as-latin',
  needs: ['request'],
  labels: ['mojibake'],
  why: 'A bound or received text was read as Latin-1: its characters, taken as bytes, are valid UTF-8.',
  fix: 'Decode it as UTF-8: `Buffer.from(name, "latin1").toString("utf8")`. Busboy 1 and Multer from 2.1 on, whose names of files are Latin-1 by default, take `defParamCharset: "utf8"` instead.',
  find(kept) {
    const { request, database } = kept;
    const texts = textsOf(request, database);
    const found = texts.find(({ value }) => readAsUtf8(value) !== null);
    if (found === undefined) return [];
    const isFile = request.body?.files.some(({ name }) => name === found.value) === true;
    const named = `${excerpt(found.name, 40)}${isFile && found.at !== null ? ' (the name of the file)' : ''}`;
    const query = database?.queries[found.at ?? -1];
    const what =
      query === undefined || database === undefined
        ? `${named} was received as`
        : `${labelOf(database, query)} got for ${named}`;
    const sentence = `${what} a text whose UTF-8 was read as Latin-1: each letter with an accent is two wrong characters`;
    const reader = isFile ? kept.routing?.layers?.find(({ name }) => name === 'multerMiddleware') : undefined;
    const draft = textDraft(found, sentence, kept);
    return [{ ...draft, place: reader?.source ?? draft.place }];
  },
};

const LOST = '\uFFFD';

/** `('Malm��', 'kund1484@…` -> city: by its place among the values of a row, or by the name before `=`. */
function columnAt(sql: string, at: number): string {
  const before = sql.slice(0, at).replace(/'(?:[^'\\]|''|\\.)*'/g, "''");
  const [, named] = /(\w+)["`]? ?= ?'[^']*$/.exec(before) ?? [];
  if (named !== undefined) return named;
  const row = before.slice(before.lastIndexOf('(') + 1);
  const columns = /\binto\b[^(]*\(([^()]*)\)/i.exec(sql)?.[1]?.split(',') ?? [];
  return columns[row.split(',').length - 1]?.replace(/["`\s]/g, '') ?? '';
}

/** Values of a write that have the character in place of one that was lost: bound ones, and those in its text. */
function lostIn(sql: string, { bindings }: Query): { name: string; value: string }[] {
  const bound = bindings.flatMap(({ name, value }) =>
    typeof value === 'string' && value.includes(LOST) ? [{ name, value }] : [],
  );
  if (!sql.includes(LOST)) return bound;
  const texts = Array.from(sql.matchAll(/'((?:[^'\\]|''|\\.)*)'/g)).flatMap(({ 1: value = '', index }) =>
    value.includes(LOST) ? [{ name: columnAt(sql, index + 1), value }] : [],
  );
  return [...bound, ...texts];
}

type Beside = Needs<'database', 'request' | 'http_client' | 'cache' | 'jobs'>;

/** Whether the character was there before: received, read from the database, a cache or a call, given to the job, or half of a pair. */
function hadLost({ request, database, http_client: client, cache, jobs }: Beside, before: number): boolean {
  const found = database.queries.slice(0, before).map(({ found: rows }) => rows);
  const read = (cache?.items ?? []).map((item) => item.found);
  const got = (client?.calls ?? []).map(({ responseBody }) => responseBody);
  const received = [request?.body, request?.query, request?.routeParams, request?.sessionAndUser];
  return /\uFFFD|\\ud[89a-f]/i.test(JSON.stringify([found, read, got, received, jobs?.run?.data]));
}

/** Streams of Node read files by 64 KiB, and sockets by 16 KiB or more. */
const SMALLEST_CHUNK = 16 * 1024;

/** A body of which the record has a part may have the character itself: as often as chunks end within it, it hardly does. */
function mayBeOfUpload({ request }: Beside, times: number): boolean {
  const { files = [], truncated = false, bytes = 0 } = request?.body ?? {};
  if (files.length === 0) return truncated;
  return times * SMALLEST_CHUNK > Math.max(bytes ?? 0, ...files.map((file) => file.bytes ?? 0));
}

/** The call that responded with the text whole: its response was decoded in parts. */
function callWith({ http_client: client }: Beside, value: string): Call | undefined {
  const parts = value.split(/\uFFFD+/).map(escapeRegExp);
  const whole = new RegExp(parts.join('[^\\x00-\\x7f\uFFFD]{1,4}'));
  return parts.join('').length < SHORTEST_TEXT
    ? undefined
    : client?.calls.find(({ responseBody }) => whole.test(responseBody?.text ?? ''));
}

const SHORTEST_TEXT = 3;

const charactersLost: Rule<Beside> = {
  name: 'characters-lost',
  needs: ['database'],
  labels: ['broken characters'],
  why: 'A write has the character U+FFFD (�) two or more times in a row: a decoder puts it in place of each part of a character that was cut. Nothing that was received, or read before, has it.',
  fix: 'Decode bytes as a whole, or with a decoder that waits for the rest of a character: `createReadStream(path, "utf8")`, `stream.setEncoding("utf8")`, `StringDecoder`. Never `text += chunk` of a Buffer.',
  find(kept) {
    const { database } = kept;
    const found = database.queries.flatMap((query, index) => {
      if (query.error !== null || kindOf(database, query) !== 'write') return [];
      const sql = sqlOf(database, query);
      return lostIn(sql, query).map((one) => ({ ...one, query, index }));
    });
    const [first] = found;
    // Both parts of a character that was cut became one each.
    const isCut = found.every(({ value }) => !/(?<!\uFFFD)\uFFFD(?!\uFFFD)/.test(value));
    if (first === undefined || !isCut || mayBeOfUpload(kept, found.length)) return [];
    if (hadLost(kept, first.index)) return [];
    const { name, value, query } = first;
    const at = value.indexOf(LOST);
    const around = excerpt(value.slice(Math.max(0, at - 20), at + 20), 40);
    const of = name === '' || name.startsWith('$') ? '' : ` for ${excerpt(name, 40)}`;
    const more = found.length === 1 ? '' : `, the first of ${count(found.length, 'such value')}`;
    const call = callWith(kept, value);
    const written = `${labelOf(database, query)}${call === undefined ? '' : bracketed(query.caller)} wrote “${around}”${of}${more}`;
    const sentence =
      call === undefined
        ? `${written}: bytes were cut within a character, and each part was decoded for itself`
        : `${written}: ${callName(call)} responded with the whole text, so the parts of its response were decoded one by one, and a character was cut`;
    return [{ ...draftAt(first, sentence, 'bad'), place: call?.caller ?? query.caller }];
  },
};

/** The column whose value has a character of four bytes; null if there is none. */
function beyondThreeBytes({ bindings }: Query): string | null {
  return (
    bindings.find(({ value }) => typeof value === 'string' && /[\u{10000}-\u{10ffff}]/u.test(value))?.name ??
    null
  );
}

const writtenWithWarning: Rule<Needs<'database'>> = {
  name: 'written-with-warning',
  needs: ['database'],
  labels: ['warning of database'],
  why: 'MySQL or MariaDB wrote the row and reported a warning. Without the strict mode, it does so if it cuts off or converts a value.',
  fix: 'Read the warning (`SHOW WARNINGS` on the same connection), make the column wide enough (`utf8mb4` for emoji) or refuse the value, and use the strict mode, which is the default.',
  find({ database }) {
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const { query } = one;
      const { warnings = 0, rows } = query;
      if (warnings === 0 || !isWrite(one)) return [];
      const sql = sqlOf(database, query);
      // A row that is there already is a warning, too, and these statements ask for it.
      const isOne = rows === 1 && !/\)\s*,\s*\(/.test(sql);
      if (/\bon\s+duplicate\b/i.test(sql) || (/\bignore\b/i.test(sql) && !isOne)) return [];
      const column = beyondThreeBytes(query);
      const what =
        column === null
          ? 'it may have cut off or converted a value'
          : `${excerpt(column, 40)} has a character of four bytes, such as an emoji, at which a column of utf8mb3 cuts off or replaces the text`;
      const sentence = `${labelOf(database, query)} succeeded with ${count(warnings, 'warning')} of the database: ${what}`;
      return [draftAt(one, sentence, 'warn')];
    });
  },
};

const BYTES =
  /^(?:application\/(?:pdf|zip|gzip|octet-stream|vnd\.openxml.*)|image\/(?!svg)|audio\/|video\/|font\/)/;

const bytesAsText: Rule<Needs<'request' | 'http_client'>> = {
  name: 'bytes-as-text',
  needs: ['request', 'http_client'],
  labels: ['bytes read as text'],
  why: 'The response has the type of a call’s response, one of bytes such as `application/pdf`, with `charset=utf-8`, which `res.send` adds to texts only. It has more bytes than the call got: each byte that is no UTF-8 became three.',
  fix: 'Read the bytes (`responseType: "arraybuffer"` of axios, `await response.arrayBuffer()`, `.buffer()`), and send a Buffer.',
  find({ request, http_client: { calls } }) {
    const { contentType = null, bytes = 0 } = request.response ?? {};
    const type = mediaTypeOf(contentType);
    if (!BYTES.test(type) || !/charset=utf-8/i.test(contentType ?? '')) return [];
    return calls.flatMap((call, index): FindingDraft[] => {
      const { method, status, responseHeaders, caller: place } = call;
      const isPacked = namedHeader(responseHeaders, 'content-encoding') !== null;
      const got = Number(namedHeader(responseHeaders, 'content-length') ?? 0);
      if (method !== 'GET' || status !== 200 || isPacked || mediaTypeOf(typeOf(call)) !== type) return [];
      if (got === 0 || got >= bytes) return [];
      const sentence = `${callName(call)} got ${count(got, 'byte')} of ${excerpt(type, 40)}, and this response has ${count(bytes)}, with charset=utf-8: they were read as text`;
      const anchor = `c${index + 1}`;
      return [{ broke: 'response', severity: 'bad', sentence, panel: 'http_client', anchor, place }];
    });
  },
};

/** People write them with capitals, and a column that ignores them is meant to. */
const ANY_CASE = /mail|user|login|name|slug|search/i;

const caseIgnored: Rule<Needs<'database'>> = {
  name: 'case-ignored',
  needs: ['database'],
  labels: ['capitals ignored'],
  why: 'A statement compares a column by `=`, and the row that it found has the value in other capital or small letters.',
  fix: 'Give a column of codes or tokens a collation that tells letters apart (`utf8mb4_bin` of MySQL, without `COLLATE NOCASE` in SQLite), and make it unique.',
  find({ database }) {
    return database.queries.flatMap((query, index): FindingDraft[] => {
      const read = readOf(database, query);
      const [row] = foundRows(query);
      if (read?.verb !== 'select' || row === undefined) return [];
      const { sources } = aboutStatement(sqlOf(database, query));
      for (const { column, operator, wrapped, values } of read.where ?? []) {
        const [value] = values;
        if (operator !== '=' || wrapped !== null || value?.kind !== 'bound') continue;
        const asked = query.bindings[value.index]?.value;
        const got = row[column];
        if (typeof asked !== 'string' || typeof got !== 'string' || asked === got) continue;
        if (asked.toLowerCase() !== got.toLowerCase() || ANY_CASE.test(column) || sources.has(column))
          continue;
        const sentence = `${labelOf(database, query)} found a row whose ${excerpt(column, 40)} has other capital letters than it asked for: it may be another one`;
        return [draftAt({ query, index }, sentence, 'warn')];
      }
      return [];
    });
  },
};

/** The first letter that is written in more or other characters than in NFC: `U+0065 U+0300` for `U+00E8`. */
function decomposedIn(text: string): { was: string; composed: string } | null {
  const points = (letter: string): string =>
    Array.from(
      letter,
      (one) => `U+${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`,
    ).join(' ');
  const letter = text.match(/\P{M}\p{M}*/gu)?.find((one) => one !== one.normalize('NFC'));
  return letter === undefined ? null : { was: points(letter), composed: points(letter.normalize('NFC')) };
}

/** In capital or small letters, and without the wildcards of a pattern. */
function lettersOf(value: Json | undefined): string | null {
  return typeof value === 'string' ? value.replace(/^%|%$/g, '').trim().toLowerCase() : null;
}

const textDecomposed: Rule<Needs<'request' | 'database'>> = {
  name: 'text-decomposed',
  needs: ['request', 'database'],
  labels: ['decomposed text'],
  why: 'A received text has a letter and its accent as two characters (it is not in NFC), a statement compares a column with it, and found no row.',
  fix: 'Bring texts into one form where they come in: `text.normalize("NFC")`, in searches and before they are stored. Names of files on macOS are decomposed.',
  find({ request, database }) {
    const received = receivedFields(request).flatMap(({ name, value }) => {
      const found = typeof value === 'string' ? decomposedIn(value) : null;
      return found === null ? [] : [{ ...found, name, letters: lettersOf(value) }];
    });
    if (received.length === 0) return [];
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const { read, query } = one;
      if (read.verb !== 'select' || query.rows !== 0) return [];
      const given = (read.where ?? []).flatMap(({ values }) =>
        values.map((value) => lettersOf(givenValue(value, query.bindings))),
      );
      const field = received.find(({ letters }) => given.includes(letters));
      if (field === undefined) return [];
      const { name, was, composed } = field;
      const sentence = `${labelOf(database, query)} found no row for ${excerpt(name, 40)}, which was received and bound with ${was} in place of ${composed}: a text that is stored in the usual form (NFC) is not equal to it`;
      return [draftAt(one, sentence, 'warn')];
    });
  },
};

export const encodingRules: readonly Rule[] = [
  byteOrderMark,
  readAsLatin,
  charactersLost,
  writtenWithWarning,
  caseIgnored,
  textDecomposed,
  bytesAsText,
];
