/** `tail` as a process, while the application that it follows restarts. */
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { withBuild } from '../support/build.ts';
import { startRecordingHost } from '../support/recording-host.ts';
import { until } from '../support/waiting.ts';

describe('tail', () => {
  withBuild();

  it('goes on after a restart with what it has missed, each request once and on one line', async () => {
    let host = await startRecordingHost();
    const { url } = host;
    const child = spawn(process.execPath, ['dist/app/cli.js', 'tail', '--format', 'json'], {
      env: { PATH: process.env.PATH, PROFILER_URL: url },
    });
    let said = '';
    let printed = '';
    child.stderr.on('data', (text: Buffer) => (said += text.toString()));
    child.stdout.on('data', (text: Buffer) => (printed += text.toString()));
    const urls = (): string[] =>
      printed
        .split('\n')
        .slice(0, -1)
        .map((line) => (JSON.parse(line) as { url: string }).url);
    try {
      await until(() => said.includes('Following new requests'), 'the stream');
      await host.send('/fine?before');
      await until(() => urls().length === 1, 'the first request');
      await host.close();
      await until(() => said.includes('connecting again.'), 'the end of the stream');
      host = await startRecordingHost({}, Number(new URL(url).port));
      await host.send('/fine?between');
      await until(() => said.includes('Connected again.'), 'the next stream');
      await host.send('/fine?after');
      await until(() => urls().length >= 3, 'the other requests');
      expect(urls()).to.deep.equal(['/fine?before', '/fine?between', '/fine?after']);
    } finally {
      child.kill('SIGINT');
      await once(child, 'close');
      await host.close();
    }
  });
});
