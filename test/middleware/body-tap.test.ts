import { createServer, request } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { inspect } from 'node:util';
import { leaveBody, tapBody } from '../../app/middleware/body-tap.ts';
import type { BodyFact } from '../../app/profiler/record/facts.ts';

type Read = (req: IncomingMessage) => Promise<string>;

/** Ways to read a body; the tap must change none of them. */
const readers: Record<string, Read> = {
  'data events': (req) =>
    new Promise((resolve) => {
      const seen: string[] = [];
      req.on('data', (chunk: Buffer) => seen.push(chunk.toString()));
      req.on('end', () => resolve(seen.join('')));
    }),
  'a slow pipe': async (req) => {
    let seen = 0;
    const slow = new Writable({ highWaterMark: 1024, write: (chunk: Buffer, _encoding, done) => { seen += chunk.length; setTimeout(done, 1); } }); // prettier-ignore
    await pipeline(req, slow);
    return `${seen}`;
  },
  'a late reader': async (req) => {
    await sleep(30);
    let seen = '';
    for await (const chunk of req) seen += (chunk as Buffer).toString();
    return seen;
  },
  'text with an encoding': (req) =>
    new Promise((resolve) => {
      let seen = '';
      req.setEncoding('utf8');
      req.on('data', (chunk: string) => (seen += chunk));
      req.on('end', () => resolve(seen));
    }),
};

async function send(
  server: Server,
  chunks: readonly string[],
  headers: Record<string, string> = {},
): Promise<string> {
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const outgoing = request({ port, method: 'POST', headers }, (res) => {
      let body = '';
      res.on('data', (chunk: Buffer) => (body += chunk.toString())).on('end', () => resolve(body));
    });
    outgoing.on('error', reject);
    void (async () => {
      for (const chunk of chunks) {
        outgoing.write(chunk);
        await sleep(2);
      }
      outgoing.end();
    })();
  });
}

describe('the tap on a body', () => {
  let server: Server;
  let fact: BodyFact | null = null;
  let read: Read;

  before(async () => {
    server = createServer((req: IncomingMessage, res: ServerResponse) => {
      fact = tapBody(req, 10);
      void read(req).then((text) => res.end(text));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  after((done) => {
    server.close(done);
  });

  it('keeps no parsed body of the application once the request is over', async () => {
    const large = { text: 'x'.repeat(1_000_000), rows: [1, 2] };
    read = async (req) => {
      const text = await readers['a late reader']?.(req);
      Object.assign(req, { body: large });
      return text ?? '';
    };
    await send(server, ['{}'], { 'content-type': 'application/json' });
    if (fact === null) throw new Error('no body');
    expect(fact.parsed).to.equal(large);
    leaveBody(fact);
    expect(fact.parsed).to.deep.equal({
      text: `${'x'.repeat(4096)}… (995904 more characters)`,
      rows: [1, 2],
    });
    expect(inspect(fact, { depth: 5, showHidden: true })).to.not.contain('IncomingMessage');
  });

  for (const [name, reader] of Object.entries(readers)) {
    it(`changes nothing for ${name}, and counts all`, async () => {
      read = reader;
      const chunks = ['häl', 'lo, ', 'world', 'x'.repeat(100_000)];
      const text = await send(server, chunks, { 'content-type': 'text/plain' });
      const whole = chunks.join('');
      expect(text).to.equal(name === 'a slow pipe' ? String(Buffer.byteLength(whole)) : whole);
      expect(fact).to.deep.include({
        bytes: Buffer.byteLength(whole),
        contentType: 'text/plain',
        truncated: true,
      });
      expect(fact?.preview.toString()).to.equal('hällo, wo');
    });
  }

  it('gives no fact where there is no body', async () => {
    read = () => Promise.resolve('');
    await send(server, [], { 'content-length': '0' });
    expect(fact).to.equal(null);
  });
});
