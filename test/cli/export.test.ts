/** Profiles as files, exported from an application; and deleted from its database. */
import { expect } from 'chai';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createPostgresStorage, runProfilerMigrations } from '../../app/index.ts';
import { databaseUrl, runCli } from '../support/cli.ts';
import { withPostgres } from '../support/postgres.ts';
import { type RecordingHost, startRecordingHost } from '../support/recording-host.ts';
import { until } from '../support/waiting.ts';
import { freshFolder } from '../support/fresh-folder.ts';

interface Exported {
  form: string;
  profile: { token: string };
}

describe('export', () => {
  let host: RecordingHost;
  let env: Record<string, string>;
  let fine: string;
  let broken: string;

  before(async () => {
    host = await startRecordingHost();
    env = { PROFILER_URL: host.url };
    fine = await host.send('/fine?password=hunter2-secret');
    broken = await host.send('/broken');
  });
  after(() => host.close());

  it('writes one profile, or all that match, as JSON and as Markdown, masked', async () => {
    const one = await runCli(['export', fine], env);
    expect(one).to.include({ code: 0, stderr: '' });
    expect(one.stdout).to.not.include('hunter2-secret');
    const profiles = JSON.parse(one.stdout) as Exported[];
    expect(profiles.map(({ profile }) => profile.token)).to.deep.equal([fine]);
    expect(profiles[0]!.form).to.equal('profile');
    const all = JSON.parse((await runCli(['export', '--format', 'json'], env)).stdout) as Exported[];
    expect(all.map(({ profile }) => profile.token)).to.deep.equal([broken, fine]);
    const failed = await runCli(['export', 'status:5xx', '--format', 'markdown'], env);
    expect(failed.stdout)
      .to.include('# `GET /broken`')
      .and.not.include('# `GET /fine')
      .and.not.include('\u001b');
  });

  it('writes HAR that holds the entries of all', async () => {
    const { stdout } = await runCli(['export', '--format', 'har'], env);
    const { log } = JSON.parse(stdout) as {
      log: { version: string; creator: object; entries: { request: { url: string } }[] };
    };
    expect(log).to.deep.include({ version: '1.2', creator: { name: 'express-hindsight', version: '1.2.3' } });
    expect(log.entries.map(({ request }) => new URL(request.url).pathname)).to.deep.equal([
      '/broken',
      '/fine',
    ]);
  });

  it('writes a file that only its owner can read, and leaves an earlier one alone if it fails', async () => {
    const folder = freshFolder();
    const file = join(folder, 'profiles.json');
    const written = await runCli(['export', '-n', '1', '-o', file], env);
    expect(written).to.deep.equal({ code: 0, stdout: '', stderr: `Exported 1 profile to ${file}.\n` });
    const text = await readFile(file, 'utf8');
    expect(text).to.include(broken);
    expect((await stat(file)).mode & 0o077).to.equal(0);
    const none = await runCli(['export', 'status:418', '-o', file], env);
    expect(none).to.deep.equal({ code: 1, stdout: '', stderr: 'No recorded request matches.\n' });
    expect(await readFile(file, 'utf8')).to.equal(text);
    const unknown = await runCli(['export', 'ffffff'], env);
    expect(unknown).to.deep.equal({ code: 1, stdout: '', stderr: 'Token "ffffff" not found.\n' });
    const missing = await runCli(['export', '-o', join(folder, 'none', 'x')], env);
    expect(missing.code).to.equal(2);
    expect(missing.stderr).to.match(/can’t be written: ENOENT\.\n$/);
  });
});

describe('prune', () => {
  const server = withPostgres();

  it('deletes by age and number once somebody is sure, and spares pinned profiles', async () => {
    const connection = databaseUrl(server().connection);
    const database = ['--database', connection, '--schema', 'pruned'];
    await runProfilerMigrations({ connection, schema: 'pruned' });
    const application = await startRecordingHost({
      storage: createPostgresStorage({ connection, schema: 'pruned' }),
    });
    const [pinned, old, newer] = [
      await application.send('/fine'),
      await application.send('/fine'),
      await application.send('/fine'),
    ];
    await until(() => application.profiler.profiles.keep(pinned, true), 'the pin');
    await application.close();

    expect((await runCli(['prune', ...database])).stderr).to.include('Choose the profiles to delete');
    expect((await runCli(['prune', '--older-than', 'soon', ...database])).code).to.equal(2);
    const asked: string[] = [];
    const confirm = (answer: boolean | null) => ({
      confirm: (question: string) => {
        asked.push(question);
        return Promise.resolve(answer);
      },
    });
    const prune = ['prune', '--older-than', '0m', ...database];
    expect((await runCli(prune, {}, confirm(null))).stderr).to.equal(
      'There is no terminal to ask for confirmation; add --yes to delete them.\n',
    );
    const no = await runCli(prune, {}, confirm(false));
    expect(no).to.deep.equal({ code: 0, stdout: 'Deleted nothing.\n', stderr: '' });
    expect(asked[0]).to.match(/^Delete about \d+ profiles, except pinned ones\?/);
    const keep = async (count: string): Promise<string> =>
      (await runCli(['prune', '--keep', count, '--yes', ...database])).stdout;
    expect(await keep('100')).to.equal('Deleted 0 profiles.\n');
    expect(await keep('1')).to.equal('Deleted 1 profile.\n');
    expect((await runCli(['show', old, ...database])).code).to.equal(1);
    expect((await runCli(['show', newer, ...database])).code).to.equal(0);
    const yes = await runCli([...prune, '--yes']);
    expect(yes).to.deep.equal({ code: 0, stdout: 'Deleted 1 profile.\n', stderr: '' });
    expect((await runCli(['list', ...database])).stdout)
      .to.include(pinned)
      .and.not.include(newer);
  });
});
