/** Every address of a token opens as soon as the headers of its response are sent, while the request runs, and right after its end. */
import { expect } from 'chai';
import express from 'express';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import hindsight, { type Profiler } from '../../../app/index.ts';
import { urls } from '../../../app/urls.ts';

const TIMES = 2;

const addresses: Record<string, (token: string) => string> = {
  page: (token) => urls.profile(token),
  'page of a panel': (token) => urls.profile(token, 'request'),
  JSON: (token) => urls.profileJson(token),
  Markdown: (token) => urls.profileMarkdown(token),
  file: (token) => urls.profileFile(token),
  HAR: (token) => urls.profileHar(token),
  OTLP: (token) => urls.profileOtlp(token),
  exception: (token) => urls.exception(token),
  stylesheet: (token) => urls.exceptionCss(token),
  toolbar: (token) => urls.toolbar(token),
  'JSON of the toolbar': (token) => urls.toolbarJson(token),
  calls: (token) => urls.callsJson(token),
};

describe('every address of a token', () => {
  let profiler: Profiler;
  let server: Server;
  let origin: string;
  let finish: () => void;

  before(async () => {
    const app = express();
    profiler = hindsight(app, { warn: () => undefined });
    app.get('/whole', (_req, res) => void res.send('whole'));
    app.get('/begun', (_req, res) => {
      res.write('begun');
      finish = () => void res.end();
    });
    server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(async () => {
    server.close();
    server.closeAllConnections();
    await profiler.close();
  });

  for (const [name, addressOf] of Object.entries(addresses)) {
    async function statusFor(response: Response): Promise<number> {
      const opened = await fetch(`${origin}${addressOf(response.headers.get('x-debug-token') ?? '')}`);
      await opened.arrayBuffer();
      return opened.status;
    }

    it(`opens while the request runs, and right after it: ${name}`, async () => {
      const statuses: number[] = [];
      for (let time = 0; time < TIMES; time++) {
        const begun = await fetch(`${origin}/begun`);
        statuses.push(await statusFor(begun));
        finish();
        await begun.text();
        statuses.push(await statusFor(begun), await statusFor(await fetch(`${origin}/whole`)));
      }
      expect(statuses.filter((status) => status !== 200)).to.deep.equal([]);
    });
  }
});
