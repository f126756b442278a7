/**
 * `mongodb`, by the channel of channels/mongodb.ts. A command is recorded as text with `?` in the place of its values:
 * `db.users.find({"email": ?})`, so that commands which differ only in values are alike, and values are masked by their keys.
 */
import { types } from 'node:util';
import { field } from '../../profiler/record/safe-read.ts';
import { type MongodbCommand, mongodbChannels } from '../channels/mongodb.ts';
import type { Driver } from './drivers.ts';

type Document = Record<string, unknown>;

interface CommandText {
  text: string;
  values: unknown[];
}

const OF_THE_DRIVER =
  /^(?:\$|lsid$|txnNumber$|startTransaction$|autocommit$|readConcern$|writeConcern$|apiVersion$|apiStrict$|apiDeprecationErrors$|ordered$|maxTimeMS$|batchSize$|singleBatch$|cursor$|bypassDocumentValidation$)/;
/** Sent by the driver itself: handshakes, monitoring, the end of sessions. */
const NOT_ASKED = new Set([
  'hello',
  'ismaster',
  'isMaster',
  'endSessions',
  'killCursors',
  'saslStart',
  'saslContinue',
  'authenticate',
  'getnonce',
]);
const DEEPEST = 8;
const LONGEST = 4000;

function isAsked(command: Document): boolean {
  return !NOT_ASKED.has(Object.keys(command)[0] ?? '');
}

function isPlain(value: unknown): value is Document {
  if (typeof value !== 'object' || value === null || types.isProxy(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** BSON's own types as what they print: `ObjectId`, `Long`, `Decimal128`. */
function plainValue(value: unknown): unknown {
  if (types.isProxy(value)) return value;
  const type = (value as { _bsontype?: unknown } | null | undefined)?._bsontype;
  return typeof type === 'string' && type !== 'Binary' ? String(value) : value;
}

function commandText(command: Document): CommandText {
  const values: unknown[] = [];
  let length = 0;

  function write(value: unknown, depth: number): string {
    if (length > LONGEST) return '…';
    const inside = depth < DEEPEST && !types.isProxy(value);
    if (inside && Array.isArray(value)) return `[${value.map((one) => write(one, depth + 1)).join(', ')}]`;
    if (inside && isPlain(value)) {
      const members = Object.keys(value).map((key) => {
        length += key.length + 4;
        return `${JSON.stringify(key)}: ${write(field(value, key), depth + 1)}`;
      });
      return `{${members.join(', ')}}`;
    }
    values.push(plainValue(value));
    length += 3;
    return '?';
  }

  function call(...parts: unknown[]): string {
    const said = parts.filter((part, at) => at === 0 || (isPlain(part) && Object.keys(part).length > 0));
    return said.map((part) => write(part ?? {}, 0)).join(', ');
  }

  function rest(...taken: string[]): Document {
    return Object.fromEntries(
      Object.entries(command).filter(
        ([key, value]) => !taken.includes(key) && !OF_THE_DRIVER.test(key) && value !== undefined,
      ),
    );
  }

  function first(name: string): Document {
    // Driver 7 sends a sequence, an object that has them.
    const given = command[name] as { documents?: unknown } | undefined;
    const list = given?.documents ?? given;
    return Array.isArray(list) && isPlain(list[0]) ? list[0] : {};
  }

  function argumentsOf(name: string): string {
    switch (name) {
      case 'find':
        return call(command.filter, rest(name, 'filter'));
      case 'aggregate':
        return call(command.pipeline, rest(name, 'pipeline'));
      case 'insert':
        return call(first('documents'));
      case 'update':
        return call(first('updates').q, first('updates').u);
      case 'delete':
        return call(first('deletes').q);
      case 'getMore':
        return '';
      default:
        return call(rest(name));
    }
  }

  const [name = ''] = Object.keys(command);
  const target = name === 'getMore' ? command.collection : command[name];
  const collection = typeof target === 'string' ? `${target}.` : '';
  return { text: `db.${collection}${name}(${argumentsOf(name)})`, values };
}

/** A response: of driver 6.8 and later without its document, which is read only where the application does. */
interface Response {
  batchSize?: unknown;
  getNumber?: (name: string) => unknown;
  n?: unknown;
  cursor?: { firstBatch?: unknown; nextBatch?: unknown };
}

function rowsOf(result: unknown): number | null {
  try {
    const response = (result ?? {}) as Response;
    if (typeof response.batchSize === 'number') return response.batchSize;
    const count = typeof response.getNumber === 'function' ? response.getNumber('n') : response.n;
    if (typeof count === 'number') return count;
    const batch = response.cursor?.firstBatch ?? response.cursor?.nextBatch;
    return Array.isArray(batch) ? batch.length : null;
  } catch {
    return null;
  }
}

export const mongodbDriver: Driver<MongodbCommand> = {
  system: 'mongodb',
  library: 'mongodb',
  query: mongodbChannels.command,
  describe({ command, connection, namespace }) {
    if (!isAsked(command)) return null;
    const { text, values } = commandText(command);
    const { address } = connection as { address?: unknown };
    const { db } = (namespace ?? {}) as { db?: unknown };
    const server = typeof address === 'string' && typeof db === 'string' ? `${address}/${db}` : undefined;
    return { sql: text, bindings: values, connection, server };
  },
  outcome: ({ result, error }) => ({ rows: rowsOf(result), error }),
};
