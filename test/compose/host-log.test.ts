/** What a profiler says, and what of it is secret. */
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { hostRedactor } from '../../app/compose/host-log.ts';

const SAYS = `
  import { closeSync } from 'node:fs';
  import { createHostLog } from './app/compose/host-log.ts';
  const log = createHostLog({ redactText: (text) => text });
  process.stdin.once('data', async (wish) => {
    if (String(wish) === 'close') closeSync(2);
    if (String(wish) === 'fill') process.stderr.write('x'.repeat(10_000_000));
    for (let at = 0; at < 3; at++) {
      log.say('nobody reads this');
      await new Promise((done) => setTimeout(done, 20));
    }
    process.stdout.write('alive', () => process.exit(0));
  });
`;

describe('the lines of a profiler in its host', () => {
  for (const [wish, what] of [
    ['leave', 'has no reader'],
    ['close', 'is closed'],
    ['fill', 'is full'],
  ] as const)
    it(`do not end a host whose standard error ${what}`, async () => {
      const args = ['--import', 'tsx', '--input-type=module', '-e', SAYS];
      const child = spawn(process.execPath, args, { stdio: 'pipe' });
      let said = '';
      child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
      if (wish === 'leave') child.stderr.destroy();
      child.stdin.write(wish);
      const [code] = (await once(child, 'exit')) as [number | null];
      expect([code, said]).to.deep.equal([0, 'alive']);
    });

  it('mask each configured secret wherever it occurs, whichever door set it', () => {
    const env = {
      APP_SECRET: 'app-secret-4711',
      API_KEY: 'api-key-4711',
      DB_PASSWORD: 'db-password-4711',
      DATABASE_URL: 'postgres://bob:url-password-4711@db/shop',
      PROFILER_DATABASE_URL: 'postgres://bob@db/shop?password=profiler%2Dpassword-4711',
    };
    const before = { ...process.env };
    Object.assign(process.env, env);
    try {
      const redactor = hostRedactor({ password: 'page-password-4711' });
      const text = 'app-secret-4711 api-key-4711 db-password-4711 url-password-4711 profiler-password-4711 page-password-4711 postgres'; // prettier-ignore
      expect(redactor.text(text)).to.equal(`${'[masked] '.repeat(6)}postgres`);
    } finally {
      for (const name of Object.keys(env))
        if (before[name] === undefined) Reflect.deleteProperty(process.env, name);
        else process.env[name] = before[name];
    }
  });
});
