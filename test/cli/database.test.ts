/** The command line at the database of an application that does not run. */
import { expect } from 'chai';
import { createPostgresStorage, runProfilerMigrations } from '../../app/index.ts';
import { databaseUrl, runCli } from '../support/cli.ts';
import { withPostgres } from '../support/postgres.ts';
import { startRecordingHost } from '../support/recording-host.ts';
import { eventually } from '../support/waiting.ts';

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
    expect(missing.stderr).to.include("the profiler's tables are missing");
    const away = await runCli(['list', '--database', 'postgres://me:very-secret@127.0.0.1:9/none']);
    expect(away.code).to.equal(2);
    expect(away.stderr)
      .to.match(/ECONNREFUSED/)
      .and.not.include('very-secret');
  });
});
