/** Two processes of one service on one database: what a form of one does holds in the other, within two seconds, and after a restart. */
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { createService, readConfig, type Service } from '../../app/service.ts';
import { createRoutes } from '../../examples/shop/routes/index.ts';
import { WEBHOOK_SECRET } from '../support/shop.ts';
import { until } from '../support/waiting.ts';

const WITHIN_MS = 2000;

describe('a pause among several processes', () => {
  let folder: string;
  const running: Service[] = [];
  const lines: string[] = [];

  async function start(instance: string): Promise<Service> {
    const service = createService({
      config: readConfig({ VAR_DIR: folder, PORT: '0', DYNO: instance }),
      routes: createRoutes({ webhookSecret: WEBHOOK_SECRET }),
      viewFolders: [resolve('examples/shop/views')],
      migrationsFolder: resolve('examples/shop/migrations'),
      log: (line) => lines.push(line),
      writeAccess: () => undefined,
    });
    service.server.listen(0, '127.0.0.1');
    await once(service.server, 'listening');
    await service.openDatabase();
    running.push(service);
    return service;
  }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hindsight-pause-'));
    await chmod(folder, 0o755);
  });
  after(async () => {
    await Promise.all(running.map((service) => service.close()));
    await rm(folder, { recursive: true, force: true });
  });

  const get = (service: Service, path: string): Promise<Response> => fetch(`${service.address()}${path}`);

  /** By a form that `from` has made, sent to `to`. */
  async function act(action: string, from: Service, to: Service): Promise<number> {
    const page = await (await get(from, '/_profiler/')).text();
    const csrf = /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const answer = await fetch(`${to.address()}/_profiler/-/${action}`, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'sec-fetch-site': 'same-origin',
      },
      body: new URLSearchParams({ csrf }).toString(),
    });
    return answer.status;
  }

  async function isRecorded(service: Service, path: string): Promise<boolean> {
    const answer = await get(service, path);
    const found = await get(service, `/_profiler/${answer.headers.get('x-debug-token') ?? ''}.json`);
    return found.status === 200;
  }

  it('holds in all of them, and one that starts says so', async () => {
    const [one, other] = [await start('web.1'), await start('web.2')];
    expect(await isRecorded(other, '/products/1?before')).to.equal(true);
    // On a busy machine, one of them may not have the key of both yet.
    await until(async () => (await act('pause', one, other)) === 303, 'the other process takes the form');
    expect(await isRecorded(other, '/products/1?paused')).to.equal(false);
    await get(one, '/login');
    await sleep(WITHIN_MS);
    let link = '';
    await until(async () => {
      const answer = await get(one, '/products/1?paused');
      link = answer.headers.get('x-debug-token-link') ?? '';
      return (await (await fetch(link)).text()).includes('recording has been paused since');
    }, 'the other process knows of the pause');
    // The other process knows the token for what it is, too.
    expect(await (await fetch(link.replace(one.address(), other.address()))).text()).to.contain(
      'recording has been paused since',
    );
    const third = await start('web.3');
    expect(lines.join('\n')).to.match(
      /Recording has been paused since 20\d\d-.+; resume it at \/_profiler\/\./,
    );
    expect(await isRecorded(third, '/products/1?restarted')).to.equal(false);
    expect(await act('resume', other, third)).to.equal(303);
    expect(await isRecorded(third, '/products/1?resumed')).to.equal(true);
  });
});
