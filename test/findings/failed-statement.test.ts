import { expect } from 'chai';
import type { Finding } from '../../app/index.ts';
import { urls } from '../../app/urls.ts';
import { withFindingsDatabase } from '../support/findings-app.ts';
import { sentencesOf } from '../support/find-by-rule.ts';
import { keptQueries } from '../support/kept-queries.ts';
import { steadyIn } from '../support/steady-findings.ts';

describe('finding failed-statement', () => {
  const ask = withFindingsDatabase(
    async (knex) => {
      await knex.raw('create table users (email text unique, phone varchar(5))');
      await knex.raw('create table stock (sku text primary key, pieces int)');
      await knex.raw("insert into stock values ('a', 9), ('b', 9)");
    },
    (app, knex) => {
      app.get('/swallowed', async (_req, res) => {
        await knex('nowhere').catch(() => []);
        res.send('fine');
      });
      app.get('/unawaited', (_req, res) => {
        void knex('nowhere').catch(() => []);
        res.send('fine');
      });
      app.get('/thrown', async (_req, res) => {
        res.json(await knex('nowhere'));
      });
      app.get('/wrapped', async () => {
        await knex('nowhere').catch((error: unknown) => {
          throw Object.assign(new Error('Validation error'), { parent: error });
        });
      });
      const add = () => knex('users').insert({ email: 'a@b.example' });
      app.get('/taken', async (_req, res) => {
        await add().catch(() => res.status(409).send('taken'));
      });
      app.get('/known', async (_req, res) => {
        await add().catch(() => undefined);
        res.json(await knex('users').where({ email: 'a@b.example' }));
      });
      app.get('/known-twice', async (_req, res) => {
        await add().catch(() => undefined);
        await add().catch(() => undefined);
        res.json(await knex('users').where({ email: 'a@b.example' }));
      });
      app.all('/lost', async (_req, res) => {
        await add().catch(() => undefined);
        res.send('fine');
      });
      app.get('/logged', async (_req, res) => {
        await knex('nowhere').catch((error: unknown) => console.warn(`no list: ${String(error)}`));
        res.send('fine');
      });
      app.get('/logged-late', (_req, res) => {
        knex('nowhere').catch((error: unknown) => console.error(`no list: ${String(error)}`));
        res.send('fine');
      });
      app.post('/repeated', async (_req, res) => {
        for (const email of ['c@d.example', 'e@f.example', 'c@d.example'])
          await knex('users')
            .insert({ email })
            .catch(() => undefined);
        res.send('fine');
      });
      app.get('/savepoint', async (req, res) => {
        await knex.transaction(async (all) => {
          const one = all.transaction(async (inner) => inner('users').insert({ email: 'a@b.example' }));
          await (req.query.thrown === '1' ? one : one.catch(() => undefined));
        });
        res.send('fine');
      });
      app.get('/aborted', async (_req, res) => {
        await knex.transaction(async (all) => {
          await all('users')
            .insert({ phone: '123456' })
            .catch(() => undefined);
          res.json(await all('users'));
        });
      });
      app.get('/other', async (_req, res) => {
        await knex('users')
          .insert({ phone: '123456' })
          .catch(() => res.status(409).send('taken'));
      });
      const waiting: (() => void)[] = [];
      const meet = (): Promise<void> =>
        new Promise((done) => {
          if (waiting.push(done) === 2) for (const go of waiting.splice(0)) go();
        });
      app.get('/take/:first/:then', async (req, res) => {
        await knex.transaction(async (all) => {
          const take = (sku: string) => all('stock').where({ sku }).decrement('pieces', 1);
          await take(req.params.first);
          await meet();
          await take(req.params.then);
        });
        res.send('taken');
      });
      app.get('/fine', async (_req, res) => {
        await knex('users').insert({ email: 'a@b.example' }).onConflict('email').ignore();
        await knex('users').insert({ email: 'a@b.example' }).onConflict('email').ignore();
        res.send('fine');
      });
    },
  );

  it('says that the response hides it', async () => {
    const { of } = await ask('/swallowed');
    const [finding] = of('failed-statement');
    expect(finding).to.include({ label: 'failure ignored', panel: 'database', anchor: 'q1' });
    expect(finding?.sentence).to.equal(
      'select … from nowhere failed (relation "nowhere" does not exist), but this request still answered 200',
    );
  });

  it('names the statement behind a 500', async () => {
    const { findings, status } = await ask('/thrown');
    expect(status).to.equal(500);
    expect(findings, 'one failure is one finding').to.have.length(1);
    expect(findings[0]).to.include({ rule: 'failed-statement', label: 'query failed', severity: 'bad' });
    expect(findings[0]?.fix).to.contain('run the migrations');
  });

  it('is the only finding if an ORM threw an error that has the driver’s as a property', async () => {
    const { findings } = await ask('/wrapped');
    expect(findings.map(({ rule, severity }) => `${rule} ${severity}`)).to.deep.equal([
      'failed-statement bad',
    ]);
  });

  it('names the first failure of an aborted transaction, not the statement that was refused', async () => {
    const { findings } = await ask('/aborted');
    expect(findings).to.have.length(1);
    expect(findings[0]).to.include({ rule: 'failed-statement', anchor: 'q2' });
    expect(findings[0]?.sentence).to.match(
      /^insert into users failed \(value too long for type character varying\(5\)\); its error was caught; the transaction was aborted, so it refused select … from users \(test\/findings\/failed-statement\.test\.ts:\d+\)$/,
    );
    expect(findings[0]?.fix).to.contain('savepoint').and.contain('Check the length');
  });

  it('shows the source of its line', async () => {
    const { profile } = await ask('/swallowed');
    const page = await ask.page(urls.profile(profile.token));
    expect(page.slice(page.indexOf('id="wrong"'))).to.match(/class="loop">[^<]*await knex\(/);
  });

  it('names one that failed after the response, because nothing awaited it', async () => {
    const [finding] = (await ask.later('/unawaited', 'failed-statement')).of('failed-statement');
    expect(finding).to.include({
      severity: 'warn',
      sentence:
        'select … from nowhere failed (relation "nowhere" does not exist) after the response was sent',
    });
  });

  it('is a note if the log has the error, and none if it also came after the response', async () => {
    expect((await ask('/logged')).of('failed-statement')[0]).to.include({ severity: 'info' });
    expect((await ask('/swallowed')).of('failed-statement')[0]).to.include({ severity: 'warn' });
    const { of } = await ask.later('/logged-late', 'logged-error');
    expect(of('failed-statement')).to.deep.equal([]);
  });

  it('says what a caught error was answered with', async () => {
    const [finding] = (await ask('/other')).of('failed-statement');
    expect(finding?.sentence).to.equal(
      'insert into users failed (value too long for type character varying(5)); this request answered 409',
    );
    expect(finding?.fix).to.match(/^Check the length .* by their code\.$/);
  });

  it('says of a deadlock which rows were locked the other way round', async () => {
    const both = await Promise.all([ask('/take/a/b'), ask('/take/b/a')]);
    const tokenOf = (wanted: number) => both.find(({ status }) => status === wanted)?.profile.token ?? '';
    // Read again, once both are stored.
    const text = await ask.page(urls.profileJson(tokenOf(500)));
    const findings = steadyIn((JSON.parse(text) as { profile: { findings: Finding[] } }).profile);
    expect(findings.map(({ rule }) => rule)).to.deep.equal(['failed-statement']);
    expect(findings[0]).to.include({ label: 'deadlock', severity: 'bad' });
    expect(findings[0]?.sentence).to.match(
      new RegExp(
        `^update stock failed \\(deadlock detected\\): this request locked a row of stock \\(query 1\\) before one of stock \\(query 2\\), and GET /take/:first/:then \\(${tokenOf(200)}\\) locked the same rows the other way round$`,
      ),
    );
  });

  it('ignores what was rolled back to a savepoint, unless the request failed, too', async () => {
    await ask('/fine');
    expect((await ask('/savepoint')).of('failed-statement')).to.deep.equal([]);
    expect((await ask('/savepoint?thrown=1')).of('failed-statement')).to.have.length(1);
  });

  describe('of work that was tried again', () => {
    const REFUSED = 'could not serialize access';
    type Sent = readonly [sql: string, value?: string | number, error?: string];
    /** Each list is a transaction, or statements without one. */
    const of = (...parts: readonly (readonly Sent[])[]): string[] => {
      const sent = parts.flatMap((part, at) =>
        part.map(([sql, value, error]) => ({
          asked: { sql, bindings: value === undefined ? [] : [['value', value] as const] },
          error: error ?? null,
          transaction: part[0]?.[0] === 'begin' ? at : null,
        })),
      );
      const { queries } = keptQueries(...sent.map(({ asked }) => asked));
      const texts = [...new Set(sent.map(({ asked }) => asked.sql))];
      const database = {
        statements: texts.map((sql) => ({ sql, system: 'postgresql' })),
        queries: queries.map((query, at) => ({
          ...query,
          statement: texts.indexOf(sent[at]?.asked.sql ?? ''),
          error: sent[at]?.error ?? null,
          transaction: sent[at]?.transaction ?? null,
          connection: 1,
          waitMs: 0,
          group: null,
        })),
        groups: [],
        totals: { failed: sent.filter(({ error }) => error !== null).length },
      };
      return sentencesOf(
        'failed-statement',
        { database },
        { method: 'POST', status: 201, outcome: 'finished' },
      );
    };
    const insert = 'insert into stock values ($1)';
    const update = 'update stock set pieces = $1';
    const refused = [
      ['begin'],
      ['select sku from stock where sku = $1', 'a'],
      [update, 8, REFUSED],
      ['rollback'],
    ] as const;

    it('is silent', () => {
      expect(of([[insert, 'a', 'timeout']], [[insert, 'a']])).to.deep.equal([]);
      expect(of(refused, [['begin'], ...refused.slice(1, 2), [update, 7], ['commit']])).to.deep.equal([]);
      const commit = [['begin'], [insert, 'a'], ['commit', undefined, REFUSED]] as const;
      expect(of(commit, commit, [['begin'], [insert, 'a'], ['commit']])).to.deep.equal([]);
    });

    it('names what failed again, or was other work', () => {
      const ignored = 'update stock failed (could not serialize access), but this request still answered 201';
      expect(of(refused, [['begin'], ...refused.slice(1, 2), [update, 7], ['rollback']])).to.deep.equal([
        ignored,
      ]);
      expect(of(refused, [['begin'], ...refused.slice(1, 2), ['commit']])).to.deep.equal([ignored]);
      expect(of(refused, [['begin'], ['select sku from stock where sku = $1', 'b'], [update, 7], ['commit']])).to.deep.equal([ignored]); // prettier-ignore
      expect(of([[insert, 'a', 'timeout']], [[insert, 'b']])).to.have.length(1);
    });
  });

  it('ignores a conflict that the statement expects', async () => {
    expect((await ask('/fine')).of('failed-statement')).to.deep.equal([]);
    expect((await ask('/taken')).of('failed-statement'), 'refused').to.deep.equal([]);
    for (const path of ['/known', '/known-twice'])
      expect((await ask(path)).of('failed-statement'), 'read instead').to.deep.equal([]);
    const method = { method: 'POST' };
    const [note] = (await ask('/lost', method)).of('failed-statement');
    expect(note?.severity).to.equal('info');
    expect(note?.fix).to.match(/^If the row may be there already, .* Else answer 409/);
    expect((await ask('/lost')).of('failed-statement'), 'a GET has nothing to refuse').to.deep.equal([]);
    expect((await ask('/repeated', method)).of('failed-statement'), 'of this request').to.deep.equal([]);
    expect((await ask('/repeated', method)).of('failed-statement'), 'by another').to.have.length(1);
  });
});
