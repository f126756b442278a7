import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import express, { type Request, type RequestHandler } from 'express';
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
    const verifySignature: RequestHandler = (req, _res, next) => {
      const expected = createHmac('sha256', 'a key').update(JSON.stringify(req.body)).digest('hex');
      if (expected !== req.get('x-parcel-signature'))
        throw Object.assign(new Error('wrong signature'), { status: 401 });
      next();
    };
    app.post('/thrown', verifySignature, (_req, res) => res.json({ ok: true }));
    app.post('/strict', (_req, res) => res.status(400).json({ error: 'note is missing' }));
  });

  it('says that the body is another text if it is written again', async () => {
    expect((await ask('/parsed', hook('{"weight":2.5}'))).status).to.equal(200);
    const [finding] = (await ask('/parsed', hook('{"weight":3.0}'))).of('signature-over-parsed');
    expect(finding?.sentence).to.match(
      /^JSON\.stringify\(req\.body\) writes 3\.0 as 3: the body, parsed by express\.json \(\S+signature-over-parsed\.test\.ts:25\), has 14 bytes as sent and 12 written again, so a signature of that text never equals x-parcel-signature; 1 earlier request got through: JSON\.stringify did not change its body$/,
    );
    expect(finding).to.include({ severity: 'bad', broke: 'response' });
    expect(finding?.place).to.match(/signature-over-parsed\.test\.ts:32$/);
  });

  it('names the line that makes the signature, near the one that threw the refusal', async () => {
    const body = '{ "note": "\\u00fc" }';
    expect((await ask('/thrown', hook('{"note":"u"}'))).status).to.equal(200);
    const [finding] = (await ask('/thrown', hook(body))).of('signature-over-parsed');
    expect(finding?.sentence).to.contain('writes "\\u00fc" as "ü"');
    expect(finding?.place).to.match(/signature-over-parsed\.test\.ts:35$/);
    const [blank] = (await ask('/thrown', hook('{ "note": "u" }'))).of('signature-over-parsed');
    expect(blank?.sentence).to.contain('JSON.stringify(req.body) leaves out blanks: the body');
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
