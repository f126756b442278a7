/** Connections that come while the process has no time for them: the kernel takes them, and none is tried again a second later. */
import { connect, type Socket } from 'node:net';
import { readFileSync } from 'node:fs';
import { type ListeningProcess, startService } from '../support/service-process.ts';
import { until } from '../support/waiting.ts';
import { freshFolder } from '../support/fresh-folder.ts';

/** More than the 511 of Node's own. */
const CONNECTIONS = 800;

describe('a service that is held up', () => {
  let folder: string;
  let service: ListeningProcess;
  const sockets: Socket[] = [];

  before(async function () {
    const limit = '/proc/sys/net/core/somaxconn';
    if (process.platform !== 'linux' || Number(readFileSync(limit, 'utf8')) < CONNECTIONS) this.skip();
    folder = freshFolder();
    // Nothing listens there.
    service = await startService({ VAR_DIR: folder, DATABASE_URL: 'postgres://127.0.0.1:9/none' });
  });
  after(async () => {
    for (const socket of sockets) socket.destroy();
    service.child.kill('SIGCONT');
    await service.ended('SIGKILL');
  });

  it('keeps many connections waiting', async () => {
    service.child.kill('SIGSTOP');
    let connected = 0;
    for (let at = 0; at < CONNECTIONS; at++) {
      const socket = connect(Number(new URL(service.origin).port), '127.0.0.1', () => connected++);
      sockets.push(socket.on('error', () => undefined));
    }
    await until(() => connected === CONNECTIONS, 'all are connected');
  });
});
