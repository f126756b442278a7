import { expect } from 'chai';
import { once } from 'node:events';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, Socket } from 'node:net';
import { WatchedResponse } from '../../app/middleware/response-notes.ts';
import { createResponseWatch } from '../../app/middleware/watched-response.ts';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';
import type { ResponseFact } from '../../app/profiler/record/facts.ts';

/** Serves one request by `answer` and gives what was noted of the response. */
async function factOf(answer: (res: ServerResponse) => void): Promise<ResponseFact> {
  const context = new Context({ token: 'abc123', kind: 'request' });
  const server = createServer((_req, res) => {
    const { watch } = createResponseWatch({
      tracker: new ContextTracker(),
      previewBytes: 10,
      onHeaders: () => undefined,
      onClose: () => undefined,
    });
    watch(res, context);
    answer(res);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await (await fetch(`http://127.0.0.1:${port}/`)).arrayBuffer();
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
  const fact = context.first('response');
  if (fact === undefined) throw new Error('nothing was noted');
  return fact;
}

describe('a watched response', () => {
  it('gives bytes where they are no ASCII, whatever they were written as', async () => {
    const fact = await factOf((res) => {
      res.write('é');
      res.write(new Uint8Array([0xff, 0]));
      res.write('w6k=', 'base64');
      res.write('\u00e9', 'latin1');
      res.end();
    });
    expect([...fact.preview]).to.deep.equal([0xc3, 0xa9, 0xff, 0, 0xc3, 0xa9, 0xe9]);
    expect(fact.bodyBytes).to.equal(7);
  });

  it('cuts by bytes, also within a character and over several pieces', async () => {
    const fact = await factOf((res) => {
      res.write('12345678');
      res.end('9éé');
    });
    expect(fact.preview.toString('latin1')).to.equal('123456789\u00c3');
    expect(fact).to.include({ bodyBytes: 13, truncated: true });
  });

  it('keeps what was sent, though the host uses its bytes again', async () => {
    const fact = await factOf((res) => {
      const bytes = Buffer.from('first');
      res.write(bytes, () => {
        bytes.fill('x');
        res.end();
      });
    });
    expect(fact.preview.toString()).to.equal('first');
  });

  it('reads the headers as they were sent', async () => {
    const fact = await factOf((res) => {
      res.writeHead(201, 'Made', { 'X-Colon': 'a:b: c', 'Set-Cookie': ['a=1', 'b=2'], 'X-Empty': '' });
      res.end();
    });
    expect(fact.rawHeaders.slice(0, 8)).to.deep.equal([
      'X-Colon',
      'a:b: c',
      'Set-Cookie',
      'a=1',
      'Set-Cookie',
      'b=2',
      'X-Empty',
      '',
    ]);
    expect(fact).to.include({ status: 201, statusMessage: 'Made' });
  });

  it('reads no more of endless headers than a browser accepts', () => {
    const res = new ServerResponse(new IncomingMessage(new Socket()));
    const fact = new WatchedResponse(0);
    res.setHeader('x-many', Array<string>(100_000).fill('value'));
    res.writeHead(200);
    fact.noteHeaders(res, 0);
    expect(fact.rawHeaders.slice(0, 2)).to.deep.equal(['x-many', 'value']);
    expect(fact.rawHeaders.join('').length).to.be.lessThan(262_144);
  });

  it('is aborted where its request has no socket', () => {
    for (const socket of [null, undefined]) {
      const context = new Context({ token: 'abc123', kind: 'request' });
      const { watch } = createResponseWatch({
        tracker: new ContextTracker(),
        previewBytes: 10,
        onHeaders: () => undefined,
        onClose: () => undefined,
      });
      const res = new ServerResponse(new IncomingMessage(socket as unknown as Socket));
      watch(res, context);
      res.emit('close');
      expect(context.first('response')?.outcome).to.equal('aborted');
    }
  });

  for (const isSummary of [false, true]) {
    const which = isSummary ? ', also if only a summary is recorded' : '';
    it(`is finished where no server made it, as in a serverless function${which}`, async () => {
      const context = new Context({ token: 'abc123', kind: 'request', summary: isSummary ? 'limit' : null });
      let closed = 0;
      const { watch } = createResponseWatch({
        tracker: new ContextTracker(),
        previewBytes: 10,
        onHeaders: () => undefined,
        onClose: () => closed++,
      });
      const res = new ServerResponse(new IncomingMessage(new Socket()));
      const written: string[] = [];
      const socket = {
        _writableState: {},
        writable: true,
        on: () => undefined,
        cork: () => undefined,
        uncork: () => undefined,
        write: (text: string, _encoding: string, sent?: () => void) => {
          written.push(text);
          sent?.();
          return true;
        },
      };
      res.assignSocket(socket as object as Socket);
      watch(res, context);
      const finished = once(res, 'finish');
      res.end('done');
      await finished;
      expect(written.join('')).to.include('done');
      await new Promise((done) => setImmediate(done));
      const { outcome, bodyBytes } = context.first('response') ?? {};
      expect([outcome, bodyBytes, closed]).to.deep.equal(['finished', isSummary ? 0 : 4, 1]);
      res.emit('close');
      expect(closed).to.equal(1);
    });
  }
});
