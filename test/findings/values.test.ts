import express from 'express';
import { expect } from 'chai';
import { draftsOf } from '../support/find-by-rule.ts';
import { withFindingsDatabase } from '../support/findings-app.ts';
import { type AskedQuery, keptQueries, keptRequest } from '../support/kept-queries.ts';

describe('findings from values on their way', () => {
  const ask = withFindingsDatabase(
    async (knex) => {
      await knex.raw(
        'create table items (id serial, name text, quantity int, sku bigint, active boolean, unit_price numeric, due date, note text)',
      );
      await knex('items').insert({ name: 'first', quantity: 1 });
      await knex.raw('create table devices (id serial, volume int, muted boolean)');
      await knex('devices').insert([
        { volume: 30, muted: true },
        { volume: 30, muted: true },
      ]);
      await knex.raw('create table totals (total_quantity int)');
      await knex.raw('create table accounts (password_hash text)');
      await knex.raw('create table smtp_servers (password text)');
      await knex.raw(
        "create collation any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
      );
      await knex.raw('create table links (id serial, code text collate any_case)');
      await knex('links').insert({ code: 'Kd3xPa' });
      await knex.raw('create table bids (id serial, amount numeric(10, 2))');
      await knex('bids').insert([880, 950, 1020, 1100].map((amount) => ({ amount })));
    },
    (app, knex) => {
      app.use(express.json(), express.urlencoded({ extended: false }));
      app.get('/s/:code', async (req, res) => {
        res.json(await knex('links').where({ code: req.params.code }));
      });
      app.get('/upper/:code', async (req, res) => {
        res.json(
          await knex('links').where({ code: req.params.code }).select(knex.raw('upper(code) as code')),
        );
      });
      app.get('/leading', async (req, res) => {
        const bids = (await knex('bids').orderBy('id')) as { amount: string }[];
        const [first = '0', ...others] = bids.map(({ amount }) => amount);
        const greatest = others.reduce(
          (most, amount) => ((req.query.as === 'number' ? +amount > +most : amount > most) ? amount : most),
          first,
        );
        res.json({ amount: req.query.as === 'last' ? others.at(-1) : greatest });
      });
      app.post('/parsed', async (req, res) => {
        const { quantity } = req.body as { quantity: string };
        await knex('items').insert({ name: 'a', quantity: parseInt(quantity, 10) });
        res.json({ ok: true });
      });
      app.post('/sku', async (req, res) => {
        const { sku } = req.body as { sku: string };
        await knex('items').insert({ name: 'a', sku: Number(sku) });
        res.json({ ok: true });
      });
      app.post('/active', async (req, res) => {
        const { active } = req.body as { active: string };
        await knex('items').insert({ name: 'a', active: Boolean(active) });
        res.json({ ok: true });
      });
      app.post('/due', (req, res) => {
        const { due } = req.body as { due: string };
        res.json({ due: new Date(new Date(due).getTime() - 3_600_000).toISOString() });
      });
      app.post('/price', async (req, res) => {
        const { unit_price: price } = req.body as { unit_price?: number };
        await knex.raw('insert into items (name, unit_price) values (?, ?)', ['a', price ?? null]);
        res.json({ ok: true });
      });
      app.patch('/items/:id', async (req, res) => {
        const { name } = req.body as { name: string };
        await knex('items').where({ id: req.params.id }).update({ name });
        const [{ id }] = (await knex('items').where({ id: req.params.id })) as [{ id: number }];
        res.json({ id, name, status: 'open' });
      });
      app.get('/by-name', async (_req, res) => {
        const user: { name?: string } = {};
        await knex('items').where({ name: String(user.name) });
        res.json([]);
      });
      app.get('/items/:id', (_req, res) => {
        res.status(404).json({});
      });
      app.get('/page', (_req, res) => {
        res.send('<p>Try <code>undefined</code>.</p><td class="a">NaN</td>');
      });
      app.get('/words', (req, res) => {
        const type = req.query.broken === undefined ? { undefined: 'undefined' } : { text: 'undefined' };
        res.json({ common: { type } });
      });
      app.get('/moved', (_req, res) => {
        res.redirect('/orders/undefined');
      });
      app.get('/day/:due', async (req, res) => {
        const due = new Date(Date.parse(req.params.due) - 3_600_000).toISOString().slice(0, 10);
        res.json(await knex('items').where({ due }).select('id'));
      });
      app.get('/quote', (req, res) => {
        const [price, shipping] = req.query.cents === undefined ? ['10.50', '4.90'] : ['10', '4'];
        const shippingCents = req.query.free === undefined ? 490 : 0;
        const priceCents = '1050';
        const totalCents = `${priceCents}${shippingCents}`;
        if (req.query.mixed !== undefined) res.json({ priceCents, shippingCents, totalCents });
        else if (req.query.code !== undefined) res.json({ priceCents, shippingCents, code: totalCents });
        else res.json({ quotes: [{ price, shipping, total: price + shipping }] });
      });
      app.get('/delivery', async (req, res) => {
        const due = req.query.text === undefined ? "date '2026-12-01'" : "'2026-12-01'";
        const { rows } = await knex.raw<{ rows: { due_on: unknown }[] }>(`select ${due} as due_on`);
        const value = rows[0]?.due_on;
        res.json({
          dueOn:
            req.query.day !== undefined && value instanceof Date ? value.toISOString().slice(0, 10) : value,
        });
      });
      app.get('/no-day', async (_req, res) => {
        await knex.raw("select date '2026-12-02' as ship_on, date '2026-12-01' as due_on");
        res.json({ shipOn: '2026-13-45', dueOn: '2026-11-30' });
      });
      app.post('/bookings', async (req, res) => {
        const { arrival, departure } = req.body as { arrival: string; departure: string };
        const { rows } = await knex.raw<{ rows: { arrival: Date; departure: Date }[] }>(
          'select ?::date as arrival, ?::date as departure',
          [arrival, departure],
        );
        const [row] = rows;
        const day = (date: Date | undefined) => date?.toISOString().slice(0, 10);
        res.json({ arrival: day(row?.arrival), departure: day(row?.departure) });
      });
      app.patch('/devices/:id', async (req, res) => {
        const { id } = req.params;
        const given = req.body as { volume?: number; muted?: boolean; note_text?: string };
        const [old] = (await knex('devices').where({ id })) as (typeof given)[];
        const isSafe = req.query.safe !== undefined;
        const [volume, muted] = isSafe
          ? [given.volume ?? old?.volume, given.muted ?? old?.muted]
          : [given.volume || old?.volume, given.muted || old?.muted];
        await knex('devices').where({ id }).update({ volume, muted });
        res.json({ volume, muted });
      });
      app.post('/carts', async (req, res) => {
        const { quantity } = req.body as { quantity: number };
        await knex('items').insert({ name: 'a', quantity: Math.max(1, quantity) });
        res.json({ ok: true });
      });
      app.post('/totals', async (req, res) => {
        const { total_quantity: total } = req.body as { total_quantity: number };
        await knex('totals').insert({ total_quantity: 42 });
        res.json({ ok: total !== 0 });
      });
      app.post('/accounts', async (req, res) => {
        const { password } = req.body as { password: string };
        const hash =
          req.query.hashed === undefined ? password : `salt:${password.length}:${password.toUpperCase()}`;
        const [table, column] =
          req.query.mail === undefined ? ['accounts', 'password_hash'] : ['smtp_servers', 'password'];
        await knex(table).insert({ [column]: hash });
        res.status(201).json({ ok: true });
      });
      const kept: object[] = [];
      app.get('/kept/:month', (req, res) => {
        kept.push({ month: Number(req.params.month), total: 12 });
        res.json(kept[0]);
      });
      app.get('/own/:month', (req, res) => {
        res.json({ month: Number(req.params.month), total: 12 });
      });
      app.get('/read/:month', async (_req, res) => {
        const { rows } = await knex.raw<{ rows: object[] }>('select 1 as month, 12 as total');
        res.json(rows[0]);
      });
      app.get('/named/:note', async (req, res) => {
        res.json(await knex('items').where({ note: req.params.note.toLowerCase() }).select('id'));
      });
      app.post('/healthy', async (req, res) => {
        const { name, quantity, active, note } = req.body as Record<string, string>;
        const values = {
          name: name?.trim(),
          quantity: Number(quantity),
          active: active === 'true',
          note: note ?? null,
        };
        const [item] = (await knex('items').insert(values).returning('*')) as [object];
        res.status(201).json(item);
      });
    },
  );

  const post = (body: object, method = 'POST') => ({
    method,
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  });
  const said = async (path: string, init?: RequestInit) =>
    (await ask(path, init)).findings.map(({ sentence }) => sentence);

  it('say how a value was changed before it was bound', async () => {
    expect(await said('/parsed', post({ quantity: '1,200' }))).to.deep.equal([
      'quantity changed between the request and insert into items: only the beginning of the text was read as a number (parseInt, parseFloat)',
    ]);
    expect(await said('/sku', post({ sku: '9007199254740993' }))).to.deep.equal([
      'sku changed between the request and insert into items: a JavaScript number can’t hold all of the digits',
    ]);
    expect(await said('/active', post({ active: 'false' }))).to.deep.equal([
      'active changed between the request and insert into items: the text was taken for true, as any text is (Boolean("false"))',
    ]);
    expect(await said('/due', post({ due: '2026-03-10' }))).to.deep.equal([
      'due changed between the request and the response: the date became a time, and the time zone moved it to another day',
    ]);
    expect(await said('/parsed', post({ quantity: '12' }))).to.deep.equal([]);
    expect(await said('/active', post({ active: 'true' }))).to.deep.equal([]);
  });

  it('say that a field was lost', async () => {
    const { of } = await ask('/price', post({ unitPrice: 12 }));
    expect(of('field-lost')[0]).to.include({
      severity: 'bad',
      sentence: 'The body has unitPrice, but insert into items got NULL for unit_price',
    });
    expect(of('field-lost')[0]?.place).to.match(/values\.test\.ts:\d+$/);
    expect(await said('/price', post({ unit_price_cents: 12 }))).to.deep.equal([
      'The body has unit_price_cents, but insert into items got NULL for unit_price',
    ]);
    expect(await said('/price', post({ unit_price: 12 }))).to.deep.equal([]);
    expect(await said('/price', post({ other: 12 }))).to.deep.equal([]);
    expect(await said('/items/1', post({ name: 'b', status: 'done' }, 'PATCH'))).to.deep.equal([
      'The body has status: no statement has it, and the response has another value',
    ]);
  });

  it('say that something had no value', async () => {
    expect(await said('/by-name')).to.deep.equal(['select … from items was given “undefined” for name']);
    expect(await said('/items/7?q=undefined')).to.deep.equal([]);
    expect(await said('/items/undefined')).to.deep.equal([
      'The parameter id is the text “undefined”: the client built the address from something that had no value',
    ]);
    expect(await said('/page')).to.deep.equal(['“NaN” was sent in the page as the text of a <td>']);
    expect(await said('/words')).to.deep.equal([]);
    expect(await said('/words?broken')).to.deep.equal(['“undefined” was sent as common.type.text']);
    expect(await said('/moved')).to.deep.equal([
      'The redirect leads to an address with “undefined”, “NaN” or “[object Object]” in it',
    ]);
  });

  it('say that a day moved by one', async () => {
    expect(await said('/day/2026-03-01')).to.deep.equal([
      'due changed between the request and select … from items: the day moved by one, as it does when a local midnight is written in UTC (toISOString)',
    ]);
  });

  it('say that numbers were joined as texts, and nothing where the result is a number', async () => {
    const { of } = await ask('/quote');
    expect(of('numbers-joined')[0]).to.include({
      broke: 'response',
      sentence:
        'total was sent as the texts of price and shipping, one behind the other: they were joined, not added',
    });
    expect(await said('/quote?cents=1')).to.deep.equal([]);
    for (const path of ['/quote?mixed=1', '/quote?mixed=1&free=1'])
      expect((await ask(path)).of('numbers-joined')[0]?.sentence, path).to.match(
        /^totalCents was sent as the texts of priceCents and shippingCents, one behind the other/,
      );
    expect(await said('/quote?code=1')).to.deep.equal([]);
  });

  it('say that a day of the database was sent as the one before', async () => {
    const zone = process.env.TZ;
    try {
      process.env.TZ = 'Europe/Berlin';
      const [moment] = (await ask('/delivery')).of('day-moved');
      expect(moment?.severity).to.equal('info');
      expect(moment?.sentence).to.match(
        /^dueOn was sent as a moment of the day before the one that select.* returned: only clients in the time zone of this server/,
      );
      expect((await ask('/delivery?day=1')).of('day-moved')[0]?.sentence).to.match(
        /^dueOn was sent as the day before the one that select.* returned: a local midnight was written in UTC/,
      );
      expect(await said('/delivery?text=1')).to.deep.equal([]);
      expect((await ask('/no-day')).of('day-moved')[0]?.sentence).to.match(
        /^dueOn was sent as the day before/,
      );
      process.env.TZ = 'UTC';
      expect(await said('/delivery?day=1')).to.deep.equal([]);
    } finally {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    }
  });

  it('say once that two days moved, at the statement', async () => {
    const zone = process.env.TZ;
    try {
      process.env.TZ = 'Europe/Berlin';
      const body = { arrival: '2026-08-03', departure: '2026-08-07' };
      const { findings } = await ask('/bookings', post(body));
      expect(findings.map(({ sentence }) => sentence)).to.deep.equal([
        'arrival and departure were sent as the day before the one that select returned: a local midnight was written in UTC',
      ]);
      expect(findings[0]?.place).to.match(/values\.test\.ts:\d+$/);
    } finally {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    }
  });

  it('say that 0 and false were taken for missing, where the statement got the old value', async () => {
    const patch = (path: string, body: object) => said(path, post(body, 'PATCH'));
    expect(await patch('/devices/1', { volume: 30 })).to.deep.equal([]);
    expect(await patch('/devices/1', { volume: 0 })).to.deep.equal([
      'volume was received as 0, but update devices got the old value: || takes 0 for missing',
    ]);
    expect(await patch('/devices/1', { muted: false })).to.deep.equal([
      'muted was received as false, but update devices got the old value: || takes false for missing',
    ]);
    expect(await patch('/devices/2?safe=1', { volume: 0 })).to.deep.equal([]);
    expect(await patch('/devices/2?safe=1', { muted: false })).to.deep.equal([]);
  });

  it('take no minimum and no value of the server’s own for one that was missing', async () => {
    expect(await said('/carts', post({ quantity: 5 }))).to.deep.equal([]);
    expect(await said('/carts', post({ quantity: 0 }))).to.deep.equal([]);
    expect(await said('/totals', post({ total_quantity: 7 }))).to.deep.equal([]);
    expect(await said('/totals', post({}))).to.deep.equal([]);
    expect(await said('/totals', post({ total_quantity: 0 }))).to.deep.equal([]);
  });

  it('say that a password was stored as it was received', async () => {
    const { of } = await ask('/accounts', post({ password: 'correct horse' }));
    expect(of('password-stored')[0]).to.include({
      severity: 'bad',
      sentence: 'insert into accounts stored password in password_hash as it was received, not hashed',
    });
    expect(await said('/accounts?hashed=1', post({ password: 'correct horse' }))).to.deep.equal([]);
    expect(await said('/accounts?mail=1', post({ password: 'correct horse' }))).to.deep.equal([]);
  });

  it('say that the response was kept for other parameters', async () => {
    const first = await ask('/kept/1');
    expect(first.findings).to.deep.equal([]);
    const { of } = await ask('/kept/2');
    expect(of('answer-of-another')[0]?.sentence).to.equal(
      `The response is that of an earlier request (${first.profile.token}) for another month, and this request asked no database or cache for it: a cache does not seem to tell the two apart`,
    );
    expect((await ask('/kept/1')).findings).to.deep.equal([]);
    await ask('/own/1');
    expect((await ask('/own/2')).findings).to.deep.equal([]);
    await ask('/read/1');
    expect((await ask('/read/2')).of('answer-of-another'), 'read again').to.deep.equal([]);
  });

  it('say that a value found nothing in other letters', async () => {
    expect(await said('/named/Red')).to.deep.equal([
      'select … from items found no row for note, whose capital or small letters were changed after it was received',
    ]);
    expect(await said('/named/red')).to.deep.equal([]);
  });

  it('ignore other letters that were stored after it was looked whether they are there', () => {
    const asked = {
      sql: 'select id from stays where plate = $1 and left_at is null',
      bindings: { plate: 'HH AB 12' },
      rows: 0,
    };
    const insert = {
      sql: 'insert into stays (garage_id, plate) values ($1, $2)',
      bindings: { garage_id: 1, plate: 'HH AB 12' },
    };
    const other = { sql: 'insert into visits (garage_id) values ($1)', bindings: { garage_id: 1 } };
    const found = (...queries: AskedQuery[]) =>
      draftsOf(
        'case-changed',
        {
          request: keptRequest({ body: { plate: 'hh ab 12' } }),
          database: keptQueries(...queries),
        },
        { status: 201 },
      );
    expect(found(asked)).to.have.length(1);
    expect(found(asked, insert)).to.deep.equal([]);
    expect(found(asked, other)).to.have.length(1);
  });

  it('say that the row found has other capital letters than the one that was asked for', async () => {
    const ignored = async (path: string) =>
      (await ask(path)).of('case-ignored').map(({ sentence }) => sentence);
    expect(await ignored('/s/kd3XpA')).to.deep.equal([
      'select … from links found a row whose code has other capital letters than it asked for: it may be another one',
    ]);
    for (const path of ['/s/Kd3xPa', '/s/none', '/upper/kd3xpa'])
      expect(await ignored(path), path).to.deep.equal([]);
  });

  it('say that the greatest was picked by its text', async () => {
    const picked = async (path: string) =>
      (await ask(path)).of('text-compared').map(({ sentence }) => sentence);
    expect(await picked('/leading')).to.deep.equal([
      'The response has the greatest amount of select … from bids by its text; by number, another row has it',
    ]);
    for (const path of ['/leading?as=number', '/leading?as=last'])
      expect(await picked(path), path).to.deep.equal([]);
  });

  it('say nothing of values that are converted as they should be', async () => {
    expect(
      await said('/healthy', post({ name: ' Bob ', quantity: '12', active: 'true', note: '' })),
    ).to.deep.equal([]);
    expect(
      await said('/healthy', {
        method: 'POST',
        body: 'name=Ann&quantity=3&active=false&note=Why+undefined+is+no+function',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      }),
    ).to.deep.equal([]);
  });
});
