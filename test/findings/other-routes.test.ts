/** Rules that compare a request with those of other routes, with a real PostgreSQL and Redis. */
import { expect } from 'chai';
import type { Request } from 'express';
import { Redis } from 'ioredis';
import { withFindingsDatabase } from '../support/findings-app.ts';
import { withRedis } from '../support/redis.ts';

const HERE = /^test\/findings\/other-routes\.test\.ts:\d+$/;

describe('findings from requests of other routes', () => {
  const path = withRedis();
  let redis: Redis;
  /** As in a service that all requests share. */
  const shared = { clinic: '' };
  const ask = withFindingsDatabase(
    async (knex) => {
      await knex.schema.createTable('members', (table) => {
        table.text('name').primary();
        table.text('clinic');
      });
      await knex.schema.createTable('patients', (table) => {
        table.integer('id').primary();
        table.text('clinic');
      });
      await knex.schema.createTable('visits', (table) => {
        table.integer('patient_id');
        table.text('clinic');
      });
      await knex.schema.createTable('products', (table) => table.text('slug').primary());
      await knex('members').insert([
        { name: 'mia', clinic: 'north' },
        { name: 'sam', clinic: 'south' },
      ]);
      await knex('patients').insert([
        { id: 1, clinic: 'north' },
        { id: 2, clinic: 'south' },
      ]);
      await knex('visits').insert([
        { patient_id: 1, clinic: 'north' },
        { patient_id: 2, clinic: 'south' },
      ]);
    },
    (app, knex) => {
      const clinicOf = async (req: Request): Promise<string> => {
        const member = await knex('members')
          .where({ name: req.get('x-member') })
          .first<{ clinic: string }>();
        return member.clinic;
      };
      const waiting: (() => void)[] = [];
      const meet = async ({ query }: Request): Promise<void> => {
        if (query.together === undefined) return;
        const bothAreHere = new Promise<void>((resolve) => waiting.push(resolve));
        if (waiting.length === 2) for (const go of waiting.splice(0)) go();
        await bothAreHere;
      };
      app.post('/login', (_req, res) => {
        res.cookie('token', 'a', { path: '/' }).cookie('cart', 'b', { path: '/shop' }).sendStatus(204);
      });
      app.get('/logout', (_req, res) => {
        res.clearCookie('token', { path: '/logout' }).sendStatus(204);
      });
      app.get('/sign-out', (_req, res) => {
        res.clearCookie('token').clearCookie('cart', { path: '/shop' }).sendStatus(204);
      });
      app.get('/products/:slug', async (req, res) => {
        const key = `products:${req.params.slug}`;
        let text = await redis.get(key);
        if (text === null) {
          const found: unknown = await knex('products').where({ slug: req.params.slug }).first();
          text = JSON.stringify(found ?? null);
          await redis.set(key, text, 'EX', 600);
        }
        res.status(text === 'null' ? 404 : 200).send(text);
      });
      app.post('/products/:slug', async (req, res) => {
        await knex('products').insert({ slug: req.params.slug });
        if (req.query.clears !== undefined) await redis.del(`products:${req.params.slug}`);
        res.sendStatus(201);
      });
      app.get('/patients', async (req, res) => {
        shared.clinic = await clinicOf(req);
        await meet(req);
        res.json(await knex('patients').where({ clinic: shared.clinic }));
      });
      app.get('/own-patients', async (req, res) => {
        const clinic = await clinicOf(req);
        await meet(req);
        res.json(await knex('patients').where({ clinic }));
      });
      app.get('/patients/:id', async (req, res) => {
        const found: unknown = await knex('patients')
          .where({ id: req.params.id, clinic: await clinicOf(req) })
          .first();
        res.status(found === undefined ? 404 : 200).json(found ?? null);
      });
      app.get('/patients/:id/visits', async (req, res) => {
        await clinicOf(req);
        res.json(await knex('visits').where({ patient_id: req.params.id }));
      });
      app.get('/patients/:id/own-visits', async (req, res) => {
        res.json(await knex('visits').where({ patient_id: req.params.id, clinic: await clinicOf(req) }));
      });
    },
  );
  before(() => {
    redis = new Redis({ path: path(), keyPrefix: 'other-routes:' });
  });
  after(() => redis?.disconnect());
  const as = (member: string) => ({ headers: { 'x-member': member } });

  it('say that a cookie stays, because it is deleted with another path', async () => {
    const sent = { headers: { cookie: 'token=a; cart=b' } };
    await ask('/login', { method: 'POST' });
    const [finding] = (await ask('/logout', sent)).of('cookie-not-deleted');
    expect(finding?.sentence).to.match(
      /^Set-Cookie deletes “token” with Path=\/logout, but POST \/login set it with Path=\/ \(\w{6}\): browsers keep that one$/,
    );
    expect(finding?.place).to.match(HERE);
    expect((await ask('/sign-out', sent)).of('cookie-not-deleted'), 'the same paths').to.deep.equal([]);
    expect((await ask('/logout')).of('cookie-not-deleted'), 'no cookie was sent').to.deep.equal([]);
  });

  it('say that a cached absence hides what was inserted since', async () => {
    for (const slug of ['vase', 'lamp', 'rug']) expect((await ask(`/products/${slug}`)).status).to.equal(404);
    await ask('/products/vase', { method: 'POST' });
    await ask('/products/lamp?clears', { method: 'POST' });
    const [finding] = (await ask('/products/vase')).of('absence-cached');
    expect(finding?.sentence).to.match(
      /^GET found other-routes:products:vase, stored by a request that had found nothing \(\w{6}, 404\): POST \/products\/:slug \(\w{6}\) has inserted it since/,
    );
    expect(finding?.place).to.match(HERE);
    expect((await ask('/products/lamp')).of('absence-cached'), 'deleted').to.deep.equal([]);
    expect((await ask('/products/rug')).of('absence-cached'), 'still absent').to.deep.equal([]);
  });

  it('say that requests at the same time share a value', async () => {
    for (const route of ['/patients', '/own-patients']) {
      await ask(route, as('mia'));
      await ask(route, as('sam'));
      const both = await Promise.all(['mia', 'sam'].map((member) => ask(`${route}?together`, as(member))));
      const found = both.flatMap(({ of }) => of('value-of-another-request'));
      expect(found).to.have.length(route === '/patients' ? 1 : 0);
      for (const { sentence, place } of found) {
        expect(sentence).to.contain(
          'was given the clinic of another x-member, whose request ran at the same time',
        );
        expect(place).to.match(HERE);
      }
    }
  });

  it('say that a route does not ask whose the parent is', async () => {
    expect((await ask('/patients/2', as('mia'))).status).to.equal(404);
    const [finding] = (await ask('/patients/2/visits', as('mia'))).of('owner-not-asked');
    expect(finding?.sentence).to.match(
      /^select … from visits doesn’t ask for clinic: GET \/patients\/:id of the same x-member/,
    );
    expect(finding?.place).to.match(HERE);
    await ask('/patients/1', as('mia'));
    for (const healthy of ['/patients/1/visits', '/patients/2/own-visits', '/patients/1/own-visits'])
      expect((await ask(healthy, as('mia'))).of('owner-not-asked'), healthy).to.deep.equal([]);
  });
});
