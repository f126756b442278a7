/**
 * `npm run stress -- hostile`: what no client library sends, written on plain sockets to the built service, bare and behind nginx. Each case has the
 * responses that are expected and the section of the RFC that says so (test/support/hostile-cases.ts). Prints what differs; ends with 1 if
 * anything does.
 */
import { connect, type Socket } from 'node:net';
import { rmSync } from 'node:fs';
import { connect as connectTls } from 'node:tls';
import { hostileCases } from '../test/support/hostile-cases.ts';
import { talk } from '../test/support/hostile-talk.ts';
import { startTlsProxy } from '../test/support/nginx.ts';
import { freshVarDir } from '../test/support/postgres.ts';
import { startService } from '../test/support/service-process.ts';

/** Connections at once. */
const AT_ONCE = 8;

interface Side {
  name: string;
  isProxy: boolean;
  open: () => Socket;
}

async function check({ name, isProxy, open }: Side): Promise<number> {
  const wrong: string[] = [];
  const left = [...hostileCases];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let one = left.shift(); one !== undefined; one = left.shift()) {
        const expected = isProxy ? (one.behindNginx ?? one.statuses) : one.statuses;
        const { statuses, timedOut } = await talk(open, { ...one, statuses: expected });
        if (!timedOut && String(statuses) === String(expected)) continue;
        const got = timedOut ? `${String(statuses)} and no end` : String(statuses);
        wrong.push(`${one.name} (RFC ${one.rfc}): expected ${String(expected)}, got ${got}`);
      }
    }),
  );
  for (const line of wrong) console.log(`${name}: ${line}`);
  console.log(`${name}: ${hostileCases.length - wrong.length} of ${hostileCases.length} cases as expected.`);
  return wrong.length;
}

export async function main(): Promise<void> {
  const varDir = freshVarDir();
  const service = await startService({ VAR_DIR: varDir });
  const port = Number(new URL(service.origin).port);
  const proxy = await startTlsProxy(null, port);
  try {
    // The pages are loaded with the first response.
    await (await fetch(service.origin)).text();
    const wrong =
      (await check({ name: 'bare', isProxy: false, open: () => connect(port, '127.0.0.1') })) +
      (await check({
        name: 'behind nginx',
        isProxy: true,
        open: () => connectTls({ port: proxy.port, host: '127.0.0.1', rejectUnauthorized: false }),
      }));
    const after = await fetch(service.origin);
    if (wrong > 0 || after.status !== 404 || service.child.exitCode !== null) process.exitCode = 1;
    console.log(`The service responds: ${after.status}.`);
  } finally {
    await proxy.close();
    await service.ended('SIGTERM');
    rmSync(varDir, { recursive: true, force: true });
  }
}
