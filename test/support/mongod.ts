/**
 * Speaks as much of MongoDB's wire protocol (OP_MSG, and OP_QUERY for the handshake) as a driver needs to find and change documents: no
 * mongod is to be had from Debian or npm. https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { BSON } from 'mongodb';

type Document = Record<string, unknown>;

const OP_REPLY = 1;
const OP_QUERY = 2004;
const OP_MSG = 2013;

function sizeAt(bytes: Buffer, at: number): number {
  return bytes.readInt32LE(at);
}

/** Documents of an OP_MSG; those of a sequence become a field of the command. */
function readMessage(body: Buffer): Document {
  let command: Document = {};
  const sequences: Document = {};
  for (let at = 4; at < body.length;) {
    const kind = body[at++];
    const end = at + sizeAt(body, at);
    if (kind === 0) command = BSON.deserialize(body.subarray(at, end));
    else {
      const nameEnd = body.indexOf(0, at + 4);
      const documents: Document[] = [];
      for (let from = nameEnd + 1; from < end; from += sizeAt(body, from))
        documents.push(BSON.deserialize(body.subarray(from, from + sizeAt(body, from))));
      sequences[body.toString('utf8', at + 4, nameEnd)] = documents;
    }
    at = end;
  }
  return { ...command, ...sequences };
}

function readQuery(body: Buffer): Document {
  return BSON.deserialize(body.subarray(body.indexOf(0, 4) + 9));
}

function header(length: number, to: number, code: number): Buffer {
  const head = Buffer.alloc(16);
  head.writeInt32LE(16 + length, 0);
  head.writeInt32LE(to, 8);
  head.writeInt32LE(code, 12);
  return head;
}

function respond(socket: Socket, to: number, code: number, document: Document): void {
  const bson = Buffer.from(BSON.serialize(document));
  if (code === OP_MSG) {
    socket.write(Buffer.concat([header(5 + bson.length, to, OP_MSG), Buffer.alloc(5), bson]));
    return;
  }
  const head = Buffer.alloc(20);
  head.writeInt32LE(1, 16);
  socket.write(Buffer.concat([header(20 + bson.length, to, OP_REPLY), head, bson]));
}

const HELLO = {
  helloOk: true,
  isWritablePrimary: true,
  ismaster: true,
  maxBsonObjectSize: 16_777_216,
  maxMessageSizeBytes: 48_000_000,
  maxWriteBatchSize: 100_000,
  logicalSessionTimeoutMinutes: 30,
  minWireVersion: 0,
  maxWireVersion: 25,
  readOnly: false,
  ok: 1,
};

function isMatch(document: Document, filter: Document): boolean {
  return Object.entries(filter).every(([key, value]) => {
    const limit = (value as { $lt?: unknown } | null)?.$lt;
    return limit === undefined ? document[key] === value : Number(document[key]) < Number(limit);
  });
}

export async function startMongod(): Promise<{ url: string; stop(): Promise<void> }> {
  const collections = new Map<string, Document[]>();
  const sockets = new Set<Socket>();

  function run(command: Document): Document {
    const [name = ''] = Object.keys(command);
    const collection = String(command[name]);
    const documents = collections.get(collection) ?? [];
    collections.set(collection, documents);
    const cursor = (firstBatch: Document[]): Document => ({
      cursor: { id: BSON.Long.fromNumber(0), ns: `test.${collection}`, firstBatch },
      ok: 1,
    });
    switch (name) {
      case 'hello':
      case 'ismaster':
        return { ...HELLO, localTime: new Date() };
      case 'insert':
        documents.push(...(command.documents as Document[]));
        return { n: (command.documents as Document[]).length, ok: 1 };
      case 'find': {
        const found = documents.filter((one) => isMatch(one, command.filter as Document));
        return cursor(found.slice(0, Number(command.limit ?? 0) || Infinity));
      }
      case 'aggregate':
        return cursor(documents);
      case 'update': {
        const [{ q, u } = { q: {}, u: {} }] = command.updates as { q: Document; u: { $set?: Document } }[];
        const found = documents.filter((one) => isMatch(one, q));
        for (const one of found) Object.assign(one, u.$set);
        return { n: found.length, nModified: found.length, ok: 1 };
      }
      case 'ping':
      case 'endSessions':
        return { ok: 1 };
      default:
        return { ok: 0, code: 59, codeName: 'CommandNotFound', errmsg: `no such command: '${name}'` };
    }
  }

  const server = createServer((socket) => {
    let received = Buffer.alloc(0);
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= 16 && received.length >= sizeAt(received, 0)) {
        const length = sizeAt(received, 0);
        const [to, code] = [sizeAt(received, 4), sizeAt(received, 12)];
        const body = received.subarray(16, length);
        respond(socket, to, code, run(code === OP_QUERY ? readQuery(body) : readMessage(body)));
        received = received.subarray(length);
      }
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `mongodb://127.0.0.1:${(server.address() as AddressInfo).port}/test`,
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
