/** What a front end may read of the host's own answers: two names more, and nothing else of them changes. */
import { expect } from 'chai';
import express from 'express';
import { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createTokenExposure } from '../../app/middleware/expose-token.ts';
import { createProfiler } from '../../app/compose/create-profiler.ts';
import { close, listen } from '../support/listen.ts';

const FRONT_END = 'http://localhost:5173';
const LIST = 'access-control-expose-headers';
const NAMES = 'x-debug-token, x-debug-token-link';

type Answer = (req: IncomingMessage, res: ServerResponse) => void;

async function ask(
  answer: Answer,
  { origin = FRONT_END, toolbarOrigins = [FRONT_END] } = {},
): Promise<Headers> {
  const profiler = createProfiler({ toolbarOrigins, warn: () => undefined });
  const app = express();
  app.use(profiler.watch);
  app.use(answer);
  const { server } = await listen(app);
  const { headers } = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/api`, {
    headers: { origin },
  });
  await close(server, profiler);
  return headers;
}

const granting: Answer = (_req, res) => {
  res.setHeader('access-control-allow-origin', FRONT_END);
  res.end('{}');
};

describe('the token of an answer to a front end', () => {
  it('may be read where the host grants the answer', async () => {
    expect((await ask(granting)).get(LIST)).to.equal(NAMES);
  });

  for (const [title, answer, expected] of [
    [
      'set by name',
      (res) => {
        res.setHeader('Access-Control-Expose-Headers', 'X-Total, x-debug-token');
        granting(res.req, res);
      },
      'X-Total, x-debug-token, x-debug-token-link',
    ],
    [
      'set as a list',
      (res) => {
        res.setHeader(LIST, ['X-Total', 'X-Page']);
        granting(res.req, res);
      },
      `X-Total, X-Page, ${NAMES}`,
    ],
    [
      'handed over at the end',
      (res) => {
        res.writeHead(200, {
          'Access-Control-Allow-Origin': '*',
          'Access-Control-Expose-Headers': 'X-Total',
        });
        res.end();
      },
      `X-Total, ${NAMES}`,
    ],
    [
      'handed over with a phrase',
      (res) => {
        res.writeHead(200, 'Fine', { 'access-control-allow-origin': '*', [LIST]: '*' });
        res.end();
      },
      `*, ${NAMES}`,
    ],
    [
      'handed over as a flat list',
      (res) => {
        res.writeHead(200, ['access-control-allow-origin', '*', LIST, 'X-Total']);
        res.end();
      },
      `X-Total, ${NAMES}`,
    ],
  ] as [string, (res: ServerResponse) => void, string][])
    /* prettier-ignore */
    it(`keeps what the host has ${title}`, async () => {
          expect((await ask((_req, res) => { answer(res); })).get(LIST)).to.equal(expected); // prettier-ignore
        });

  it('stays as the host sent it where it grants nothing, or another origin asks', async () => {
    expect((await ask((_req, res) => res.end())).get(LIST)).to.equal(null);
    expect((await ask(granting, { origin: 'https://evil.example' })).get(LIST)).to.equal(null);
    expect((await ask(granting, { toolbarOrigins: [] })).get(LIST)).to.equal(null);
  });

  it('costs nothing where no front end was set up', () => {
    expect(createTokenExposure(new Set())).to.equal(undefined);
  });

  it('leaves a response alone that can’t be asked', () => {
    const broken = {
      req: { headers: { origin: FRONT_END } },
      headersSent: false,
      getHeader() {
        throw new Error('frozen');
      },
    } as unknown as ServerResponse;
    const args = [200];
    expect(createTokenExposure(new Set([FRONT_END]))?.(broken, args)).to.equal(args);
  });
});
