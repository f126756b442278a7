/** The command line at the database of an application that does not run. */
import { expect } from 'chai';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createPostgresStorage, runProfilerMigrations } from '../../app/index.ts';
import { folderNameOf } from '../../app/storage/files/folder.ts';
import { databaseUrl, runCli } from '../support/cli.ts';
import { createStoreIn } from '../support/memory-store.ts';
import { withPostgres } from '../support/postgres.ts';
import { startRecordingHost } from '../support/recording-host.ts';
import { eventually } from '../support/waiting.ts';
import { freshFolder } from '../support/fresh-folder.ts';

describe('the command line without the application', () => {
  const server = withPostgres();
  const SCHEMA = 'shop';
  let url: string;
  let database: string[];
  let broken: string;
  let fine: string;

  before(async () => {
    url = databaseUrl(server().connection);
    database = ['--database', url, '--schema', SCHEMA];
    await runProfilerMigrations({ connection: url, schema: SCHEMA });
    const application = await startRecordingHost({
      storage: createPostgresStorage({ connection: url, schema: SCHEMA }),
    });
    broken = await application.send('/broken');
    fine = await application.send('/fine');
    await application.close();
  });

  it('lists, shows and compares what is stored', async () => {
    const list = await runCli(['list', ...database]);
    expect(list).to.include({ code: 0, stderr: '' });
    expect(list.stdout).to.include(broken).and.include(fine);
    const why = await runCli(['why', ...database]);
    expect(why.stdout)
      .to.include('/broken')
      .and.match(/recording-host\.ts:\d+/);
    expect(why.stdout, 'a link to a server that has gone').to.not.match(/<https?:/);
    const shown = await runCli(['show', fine, ...database]);
    expect(shown.stderr).to.equal('');
    expect(shown.stdout).to.include('GET /fine');
    expect((await runCli(['compare', broken, fine, ...database])).stdout).to.include('/fine');
    const unknown = await runCli(['show', 'ffffff', ...database]);
    expect(unknown.stderr).to.equal('Token "ffffff" not found.\n');
    expect(unknown).to.include({ code: 1, stdout: '' });
    const storage = createPostgresStorage({ connection: url, schema: SCHEMA });
    const own = { kinds: ['profiler' as const], limit: 10, offset: 0 };
    const { rows } = await eventually(() => storage.find(own), 'the database replies');
    await storage.close();
    expect(rows, 'what reads records nothing').to.deep.equal([]);
  });

  it('ends with a sentence if the database can’t be read, without its password', async () => {
    const missing = await runCli(['list', ...database, '--schema', 'nothing_here']);
    expect(missing).to.include({ code: 2, stdout: '' });
    expect(missing.stderr).to.include('"nothing_here", which has no profiles').and.include(SCHEMA);
    const other = await runCli(['list', '--database', 'mysql://me:very-secret@127.0.0.1/none']);
    expect(other.stderr)
      .to.match(/begins with "mysql:"/)
      .and.not.include('very-secret');
    const away = await runCli(['list', '--database', 'postgres://me:very-secret@127.0.0.1:9/none']);
    expect(away.code).to.equal(2);
    expect(away.stderr)
      .to.match(/ECONNREFUSED/)
      .and.not.include('very-secret');
  });
});

describe('the command line without a running application', () => {
  let cache: string;
  let project: string;
  let restore: () => void;

  beforeEach(() => {
    cache = freshFolder();
    project = freshFolder();
    const { XDG_CACHE_HOME, PROFILER_DIR } = process.env;
    restore = () => {
      Object.assign(process.env, PROFILER_DIR === undefined ? {} : { PROFILER_DIR });
      if (XDG_CACHE_HOME === undefined) delete process.env.XDG_CACHE_HOME;
      else process.env.XDG_CACHE_HOME = XDG_CACHE_HOME;
    };
    process.env.XDG_CACHE_HOME = cache;
    delete process.env.PROFILER_DIR;
  });
  afterEach(() => restore());

  /** Records as an application of this project that has ended. */
  async function record(of: string, guard: string | null = null): Promise<string> {
    const store = createStoreIn(join(cache, 'express-hindsight', folderNameOf(of)), { project: of, guard });
    const application = await startRecordingHost({ storage: store });
    const token = await application.send('/broken');
    await application.close();
    return token;
  }

  it('reads the files of a project, whatever protects its pages', async () => {
    const token = await record(project, 'a password');
    const list = await runCli(['list', '--project', project]);
    expect(list).to.include({ code: 0, stderr: '' });
    expect(list.stdout).to.include(token);
    const why = await runCli(['why', token, '--project', project]);
    expect(why.stdout)
      .to.include('/broken')
      .and.match(/recording-host\.ts:\d+/);
    const below = join(project, 'packages');
    mkdirSync(below);
    expect((await runCli(['list', '--project', below])).stdout).to.include(token);
  });

  it('prunes the files of a project, and says if there are none', async () => {
    const prune = ['prune', '--keep', '0', '--yes', '--project', project];
    expect((await runCli(prune)).stderr).to.include('No profiles of');
    const token = await record(project, 'a password');
    expect((await runCli(['prune', '--older-than', '1h', '--yes', '--project', project])).stdout).to.equal(
      'Deleted 0 profiles.\n',
    );
    expect((await runCli(['list', '--project', project])).stdout).to.include(token);
    // The request and its error page.
    expect((await runCli(prune)).stdout).to.equal('Deleted 2 profiles.\n');
    expect((await runCli(['list', '--project', project])).code).to.equal(1);
  });

  it('asks which project is meant, and says where none is', async () => {
    expect((await runCli(['list', '--project', project])).stderr).to.include('No profiles of');
    const [one, other] = [join(project, 'one'), join(project, 'other')];
    for (const folder of [one, other]) {
      mkdirSync(folder);
      await record(folder);
    }
    const asked = await runCli(['list', '--project', project]);
    expect(asked.code).to.equal(2);
    expect(asked.stderr).to.include(`--project ${one}`).and.include(`--project ${other}`);
    expect((await runCli(['list', '--project', one])).code).to.equal(0);
    expect((await runCli(['list', '--project', join(project, 'none')])).stderr).to.include('is no folder');
  });
});
