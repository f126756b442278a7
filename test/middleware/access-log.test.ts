import { expect } from 'chai';
import express from 'express';
import { createAccessLog } from '../../app/service/middleware/access-log.ts';
import { createRedactor } from '../../app/profiler/masking/redact.ts';
import { close, listen } from '../support/listen.ts';
import { exchange, head } from '../support/raw-http.ts';
import { until } from '../support/waiting.ts';

async function log(requests: readonly string[]): Promise<string[]> {
  const lines: string[] = [];
  const redactor = createRedactor({ secrets: { API_KEY: 'correct horse' } });
  const app = express();
  app.use(createAccessLog({ redactText: (text) => redactor.text(text), write: (line) => lines.push(line) }));
  app.use((_req, res) => res.status(204).end());
  const { server, port } = await listen(app);
  for (const request of requests) await exchange(port, [request], { count: 1 });
  await until(() => lines.length >= requests.length, 'each answer has its line');
  await close(server);
  return lines;
}

describe('the access log', () => {
  it('writes one line per answer: address, method, target, status, time, request id', async () => {
    const [line] = await log([head('GET /a?b=1')]);
    expect(line).to.match(/^127\.0\.0\.1 GET \/a\?b=1 204 [\d.]+ ms -\n$/);
  });

  it('prints no secret, by name or by value, also encoded', async () => {
    const lines = await log([
      head('GET /a?password=hunter2&x=1'),
      head('GET /correct%20horse/x'),
      head('GET /a?k=correct+horse'),
    ]);
    expect(lines.join('')).to.not.match(/hunter2|correct/);
    expect(lines[0]).to.include('x=1');
  });

  it('prints no half of a secret where a long target is cut', async () => {
    const lines = await log([head(`GET /${'x'.repeat(1990)}correct%20horse`)]);
    expect(lines[0]).to.not.include('correct');
  });

  it('cuts an endless target', async () => {
    const [line] = await log([head(`GET /${'a'.repeat(9000)}`)]);
    expect(line?.length).to.be.lessThan(2200);
  });
});
