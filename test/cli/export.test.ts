/** Profiles as files: exported from an application or a database, imported into another one, and pruned there. */
import { expect } from 'chai';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { databaseUrl, type Ended, runCli as run } from '../support/cli.ts';
import { withDebianPostgres } from '../support/postgres.ts';
import { type RecordingHost, startRecordingHost } from '../support/recording-host.ts';

/** Without how far it has come, which a slow machine says. */
async function runCli(...given: Parameters<typeof run>): Promise<Ended> {
  const ended = await run(...given);
  return { ...ended, stderr: ended.stderr.replace(/^.* …\n/gm, '') };
}

type Line = Record<string, unknown>;

function linesOf(text: string): Line[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
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

  it('writes one profile, or all that match, as lines of JSON, masked, each shared part once', async () => {
    const one = await runCli(['export', fine], env);
    expect(one).to.include({ code: 0, stderr: '' });
    expect(one.stdout).to.not.include('hunter2-secret');
    const profiles = linesOf(one.stdout).filter((line) => !('part' in line));
    expect(profiles).to.have.lengthOf(1);
    expect(profiles[0]).to.have.nested.property('document.token', fine);
    const all = linesOf((await runCli(['export'], env)).stdout);
    const tokens = all.flatMap(({ index }) => (index as { token?: string } | undefined)?.token ?? []);
    expect(tokens.slice(0, 1)).to.deep.equal([broken]);
    expect(tokens).to.include(fine);
    const parts = all.flatMap(({ part }) => (part === undefined ? [] : [JSON.stringify(part)]));
    expect(parts).to.not.deep.equal([]);
    expect(parts).to.have.lengthOf(new Set(parts).size);
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
    const folder = await mkdtemp(join(tmpdir(), 'hindsight-export-'));
    const file = join(folder, 'profiles.jsonl');
    try {
      const written = await runCli(['export', '-n', '1', '-o', file], env);
      expect(written).to.deep.equal({ code: 0, stdout: '', stderr: `Exported 2 profiles to ${file}.\n` });
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
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  describe('and import', () => {
    const server = withDebianPostgres();
    let folder: string;
    let file: string;
    let database: string[];

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'hindsight-import-'));
      file = join(folder, 'profiles.jsonl');
      database = ['--database', databaseUrl(server().connection), '--schema', 'imported'];
      expect(await runCli(['export', '-o', file], env)).to.include({ code: 0 });
    });
    after(() => rm(folder, { recursive: true }));

    it('brings all of it into an empty database, as often as it runs', async () => {
      const count = linesOf(await readFile(file, 'utf8')).filter((line) => !('part' in line)).length;
      const expected = { code: 0, stdout: `Imported ${count} profiles.\n`, stderr: '' };
      expect(await runCli(['import', file, '--pin', ...database])).to.deep.equal(expected);
      expect(await runCli(['import', file, ...database])).to.deep.equal(expected);
      const again = await runCli(['export', ...database]);
      expect(linesOf(again.stdout).flatMap(({ document }) => document ?? [])).to.deep.equal(
        linesOf(await readFile(file, 'utf8')).flatMap(({ document }) => document ?? []),
      );
      const shown = await runCli(['show', broken, ...database]);
      expect(shown.stdout)
        .to.match(/recording-host\.ts:\d+/)
        .and.not.include('no longer stored');
      expect((await runCli(['list', 'has:pin', ...database])).stdout)
        .to.include(fine)
        .and.include(broken);
    });

    it('names each line that is wrong, and takes the others', async () => {
      const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
      const at = lines.findIndex((line) => line.includes(`"token":"${fine}"`));
      const right = lines[at]!.replaceAll(fine, 'abcdef');
      const change = (path: 'index' | 'document', fields: object): string => {
        const line = JSON.parse(right) as Record<string, object>;
        return JSON.stringify({ ...line, [path]: { ...line[path], ...fields } });
      };
      const wrong = join(folder, 'wrong.jsonl');
      const part = JSON.stringify({ part: { id: '0123456789abcdef', text: '{"value":1}' } });
      await writeFile(
        wrong,
        [
          '{"cut": ',
          '[]',
          part,
          change('document', { status: 'green' }),
          change('document', { token: '../x' }),
          change('document', { version: 99 }),
          change('index', { queries: -1 }),
          lines[at]!.replace(/"startedAt":\d+/g, '"startedAt":1'),
          '',
          right,
        ].join('\n'),
      );
      const { code, stdout, stderr } = await runCli(['import', wrong, ...database]);
      expect({ code, stdout }).to.deep.equal({ code: 2, stdout: 'Imported 1 profile.\n' });
      expect(stderr.trimEnd().split('\n').sort()).to.deep.equal(
        [
          'Line 1: it is not JSON.',
          'Line 2: it is no exported profile.',
          'Line 3: its shared part was changed.',
          'Line 4: its document has no valid "status": "green".',
          'Line 5: its document has no valid "token": "../x".',
          'Line 6: its profile has version 99; this package knows versions up to 3.',
          'Line 7: its index has no valid "queries": -1.',
          `Line 8: another request has the token ${fine} there.`,
          '8 lines were not imported.',
        ].sort(),
      );
      expect(await runCli(['show', 'abcdef', ...database])).to.include({ code: 0 });
      const none = await runCli(['import', join(folder, 'none'), ...database]);
      expect(none).to.deep.equal({ code: 2, stdout: '', stderr: 'The file can’t be read: ENOENT.\n' });
      expect((await runCli(['import', file])).stderr).to.include('Name the database');
    });

    it('prunes by age and number once somebody is sure, and spares what is pinned', async () => {
      const pinned = (await runCli(['list', 'has:pin', '--format', 'json', ...database])).stdout;
      expect((await runCli(['prune', ...database])).stderr).to.include('Say what to delete');
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
      const yes = await runCli([...prune, '--yes']);
      expect(yes).to.deep.equal({ code: 0, stdout: 'Deleted 1 profile.\n', stderr: '' });
      expect((await runCli(['show', 'abcdef', ...database])).code).to.equal(1);
      await runCli(['import', join(folder, 'wrong.jsonl'), ...database]);
      for (const [keep, deleted] of [
        ['100', 'Deleted 0 profiles.\n'],
        ['0', 'Deleted 1 profile.\n'],
      ] as const)
        expect((await runCli(['prune', '--keep', keep, '--yes', ...database])).stdout).to.equal(deleted);
      const left = (await runCli(['list', 'has:pin', '--format', 'json', ...database])).stdout;
      expect(left).to.equal(pinned);
    });
  });
});
