import { AsyncLocalStorage } from 'node:async_hooks';
import { expect } from 'chai';
import express from 'express';
import { createBodyLimit, printLimit } from '../../app/middleware/body-limit.ts';
import { close, listen } from '../support/listen.ts';
import { exchange, head } from '../support/raw-http.ts';

describe('the limit on bodies', () => {
  it('answers inside the context of the request, though the parser has lost it', async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    const app = express();
    app.use((req, _res, next) => {
      storage.run(req.url, next);
    });
    const respond = (_error: unknown, _req: unknown, res: { end: (text: string) => unknown }): void => {
      seen.push(storage.getStore());
      res.end('too much');
    };
    app.use(createBodyLimit({ limitBytes: 10, respond }));
    app.use((req) => req.resume());
    const { server, port } = await listen(app);
    const start = head('POST /chunked', { 'transfer-encoding': 'chunked' });
    await exchange(port, [start, '5\r\nabcde\r\n', 'a\r\nabcdefghij\r\n'], { count: 1, pauseMs: 20 });
    await close(server);
    expect(seen).to.deep.equal(['/chunked']);
  });

  it('is written in MiB where it is a whole number of them', () => {
    expect([printLimit(16 * 1024 * 1024), printLimit(1000)]).to.deep.equal(['16 MiB', '1000 bytes']);
  });
});
