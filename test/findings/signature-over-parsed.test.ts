import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import express, { type Request } from 'express';
import { withFindingsApp } from '../support/findings-app.ts';

const sign = (bytes: string | Buffer): string => createHmac('sha256', 'a key').update(bytes).digest('hex');
const hook = (body: string, signature = sign(body)): RequestInit => ({
  method: 'POST',
  body,
  headers: { 'content-type': 'application/json', 'x-parcel-signature': signature },
});

describe('finding signature-over-parsed', () => {
  const ask = withFindingsApp((app) => {
    const verify = (req: object, _res: unknown, bytes: Buffer): void => {
      Object.assign(req, { rawBody: bytes });
    };
    const bytesOf = new Map<string, string>();
    app.use('/raw', express.raw({ type: 'application/json' }));
    app.use('/kept', express.json({ verify }));
    app.use('/elsewhere', (req, _res, next) => {
      req.on('data', (bytes: Buffer) => bytesOf.set(req.url, String(bytes)));
      next();
    });
    app.use(express.json());
    const signed = (req: Request & { rawBody?: Buffer }): string | Buffer => {
      if (Buffer.isBuffer(req.body)) return req.body;
      return req.rawBody ?? bytesOf.get(req.url) ?? JSON.stringify(req.body);
    };
    app.post(['/parsed', '/raw', '/kept', '/elsewhere'], (req, res) => {
      const isGenuine = sign(signed(req)) === req.get('x-parcel-signature');
      res.status(isGenuine ? 200 : 400).json(isGenuine ? { ok: true } : { error: 'not genuine' });
    });
    app.post('/strict', (_req, res) => res.status(400).json({ error: 'note is missing' }));
  });

  it('says that the body is another text if it is written again', async () => {
    expect((await ask('/parsed', hook('{"weight":2.5}'))).status).to.equal(200);
    const [finding] = (await ask('/parsed', hook('{"weight":3.0}'))).of('signature-over-parsed');
    expect(finding?.sentence).to.match(
      /^The body has 14 bytes, and 12 if it is parsed by express\.json \(\S+signature-over-parsed\.test\.ts:25\) and written again: a signature computed over JSON\.stringify\(req\.body\) never equals x-parcel-signature, which is of the bytes as sent; 1 earlier request with a body that is the same text either way got through$/,
    );
    expect(finding).to.include({ severity: 'bad', broke: 'response' });
    expect(finding?.place).to.match(/signature-over-parsed\.test\.ts:32$/);
  });

  it('ignores applications that compare the bytes, and refusals of another kind', async () => {
    const wrong = sign('another body');
    for (const path of ['/raw', '/kept', '/elsewhere']) {
      expect((await ask(path, hook('{"weight":3.0}'))).status, path).to.equal(200);
      const refused = await ask(path, hook('{"weight":3.0}', wrong));
      expect(refused.status, path).to.equal(400);
      expect(refused.of('signature-over-parsed'), path).to.deep.equal([]);
    }
    for (const [path, body] of [
      ['/strict', '{"weight":3.0}'],
      ['/parsed', '{"weight":2.5}'],
    ] as const)
      expect((await ask(path, hook(body, wrong))).of('signature-over-parsed'), path).to.deep.equal([]);
  });
});
