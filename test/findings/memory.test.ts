/** Lists and answers that the process holds between requests. */
import { expect } from 'chai';
import { json, type RequestHandler, Router } from 'express';
import { withFindingsApp, withFindingsDatabase } from '../support/findings-app.ts';

const NAMES = ['Anja Roth', 'Bilal Khan', 'Chloe Petit', 'Dario Conti'];

describe('finding order-changed', () => {
  let held: string[] = [];
  let shuffles = 0;
  const ask = withFindingsApp((app) => {
    app.get('/reverse', (_req, res) => res.json({ names: held.reverse() }));
    app.get('/page', (_req, res) => {
      const names = held.reverse();
      const items = names.map((name) => `<li>${name}</li>`);
      res.send(`<html><body><p>First: ${names[0]}</p><ul>${items.join('')}</ul></body></html>`);
    });
    app.get('/sort', (req, res) => {
      res.json(req.query.by === 'end' ? held.sort((a, b) => b.slice(-1).localeCompare(a.slice(-1))) : held);
    });
    app.get('/copy', (_req, res) => res.json({ names: [...held].reverse() }));
    app.get('/shuffle', (_req, res) => {
      const at = shuffles++;
      res.json([...held.slice(at), ...held.slice(0, at)]);
    });
    app.post('/turn', (_req, res) => {
      held.reverse();
      res.send('turned');
    });
    app.get('/held', (_req, res) => res.json(held));
  });
  beforeEach(() => {
    held = [...NAMES];
  });

  it('names a list that reverse() changes each time', async () => {
    const first = await ask('/reverse');
    const [finding] = (await ask('/reverse')).of('order-changed');
    expect(finding?.sentence).to.equal(
      `names of the response has 4 entries of an earlier request (${first.profile.token}) in reverse order, and no statement or call ran: reverse() seems to change a list that the process holds`,
    );
    expect(finding).to.include({ label: 'changed order', severity: 'bad', anchor: 'response' });
    expect(finding?.place).to.match(/memory\.test\.ts:12$/);
  });

  it('names one of a page', async () => {
    await ask('/page');
    expect((await ask('/page')).of('order-changed')[0]?.sentence).to.contain(
      '<li> of the response has 4 entries',
    );
  });

  it('names a list in the order of a request in between', async () => {
    await ask('/sort');
    await ask('/sort?by=end');
    expect((await ask('/sort')).of('order-changed')[0]?.sentence).to.contain(
      'in the order that a request in between got, and no statement or call ran: sort()',
    );
  });

  it('ignores a copy, other orders, another client, and a write in between', async () => {
    for (const path of ['/copy', '/shuffle', '/shuffle', '/shuffle', '/shuffle'])
      expect((await ask(path)).of('order-changed'), path).to.deep.equal([]);
    expect((await ask('/copy')).of('order-changed')).to.deep.equal([]);
    await ask('/reverse');
    expect((await ask('/reverse', { headers: { 'X-Order': 'newest' } })).of('order-changed')).to.deep.equal(
      [],
    );
    await ask('/held');
    await ask('/turn', { method: 'POST' });
    expect((await ask('/held')).of('order-changed')).to.deep.equal([]);
  });
});

describe('finding answer-of-another-path', () => {
  function remember(keyOf: (req: Parameters<RequestHandler>[0]) => string): RequestHandler {
    const known = new Map<string, unknown>();
    return (req, res, next) => {
      const key = keyOf(req);
      if (known.has(key)) {
        res.json(known.get(key));
        return;
      }
      const send = res.json.bind(res);
      res.json = (body) => {
        known.set(key, body);
        return send(body);
      };
      next();
    };
  }
  const ask = withFindingsApp((app) => {
    const resource = (of: string): Router =>
      Router().get('/', (req, res) => res.json(NAMES.map((name) => ({ of, name, q: req.query.q }))));
    const below = remember(({ url }) => url);
    const whole = remember(({ originalUrl }) => originalUrl);
    app.use('/people', below, resource('people'));
    app.use('/teams', below, resource('teams'));
    app.use('/v2/people', below, resource('people'));
    app.use('/rooms', whole, resource('house'));
    app.use('/desks', whole, resource('house'));
  });

  it('names the other path, and its request', async () => {
    const first = await ask('/people?q=a');
    const { body, of } = await ask('/teams?q=a');
    expect(body).to.equal(first.body);
    const [finding] = of('answer-of-another-path');
    expect(finding?.sentence).to.equal(
      `The response is byte for byte that of GET /people (${first.profile.token}), from memory: without /teams and /people, both addresses are /?q=a, so the key of a cache seems to lack the path of the mount`,
    );
    expect(finding).to.include({ label: 'another path', severity: 'bad', anchor: 'response' });
    expect(finding?.place).to.match(/memory\.test\.ts:\d+$/);
  });

  it('ignores whole addresses, repetitions, and one resource at two paths', async () => {
    for (const path of ['/rooms', '/desks', '/desks', '/people?q=b', '/people?q=b', '/v2/people?q=b'])
      expect((await ask(path)).of('answer-of-another-path'), path).to.deep.equal([]);
  });
});

describe('finding held-in-process', () => {
  const fresh = () => ({ channels: { email: true, sms: false }, quiet: { from: '22:00' } });
  let defaults = fresh();
  interface Own {
    channels?: object;
    quiet?: object;
  }
  const ask = withFindingsDatabase(
    async (knex) => {
      await knex.raw('create table people (id int primary key, name text, settings jsonb)');
      await knex('people').insert([
        { id: 1, name: 'Greta', settings: { channels: { sms: true } } },
        { id: 2, name: 'Hugo', settings: {} },
      ]);
    },
    (app, knex) => {
      app.use(json());
      app.get('/copies/:id', async ({ params: { id } }, res) => {
        const row = await knex('people').where({ id }).first<{ settings: Own }>();
        res.json({ ...structuredClone(defaults), ...row.settings });
      });
      app.all('/settings/:id', async ({ params: { id }, method, body }, res) => {
        const row = await knex('people').where({ id }).first<{ settings: Own }>();
        const own = method === 'GET' ? row.settings : (body as Own);
        if (method === 'PATCH') await knex('people').where({ id }).update({ settings: own });
        Object.assign(defaults.channels, own.channels);
        Object.assign(defaults.quiet, own.quiet);
        res.json({ settings: defaults });
      });
    },
  );
  const patch = (path: string, body: Own) =>
    ask(path, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  beforeEach(() => {
    defaults = fresh();
  });

  it('names the request for another id whose values were kept', async () => {
    const first = await ask('/settings/2');
    const { profile } = await patch('/settings/1', { channels: { email: false } });
    const [finding] = (await ask('/settings/2')).of('held-in-process');
    expect(finding?.sentence).to.equal(
      `settings.channels.email changed since the same request before (${first.profile.token}), and no row that it reads did: the values are those of PATCH /settings/:id (${profile.token}), for another id. The process holds them`,
    );
    expect(finding).to.include({ severity: 'bad', broke: 'response', anchor: 'response' });
    expect(finding?.place).to.match(/memory\.test\.ts:\d+$/);
  });

  it('is silent where the row was changed, nothing was kept, or another request meant it', async () => {
    await ask('/settings/2');
    await patch('/settings/2', { channels: { email: false } });
    expect((await ask('/settings/2')).of('held-in-process'), 'its own row').to.deep.equal([]);
    await ask('/copies/2');
    await patch('/settings/1', { quiet: { from: '20:00' } });
    defaults = fresh();
    expect((await ask('/copies/2')).of('held-in-process'), 'a deep copy').to.deep.equal([]);
    await ask('/copies/2');
    defaults.quiet.from = '21:00';
    expect((await ask('/copies/2')).of('held-in-process'), 'of no request').to.deep.equal([]);
  });
});

describe('finding held-in-process, of rows', () => {
  const rooms = new Map<number, object>();
  const ask = withFindingsDatabase(
    async (knex) => {
      await knex.raw('create table rooms (id int primary key, name text, floor int)');
      await knex.raw('create table pieces (id int primary key, title text, room_id int, room_name text)');
    },
    (app, knex) => {
      app.use(json());
      interface Piece {
        title: string;
        room_id: number;
        room_name?: string;
      }
      const roomOf = async (id: number, isKept: boolean): Promise<object> => {
        const room = (isKept && rooms.get(id)) || (await knex('rooms').where({ id }).first<object>());
        rooms.set(id, room);
        return room;
      };
      app.get('/pieces/:id', async ({ params: { id }, query }, res) => {
        const { room_id: roomId, ...piece } = await knex('pieces')
          .where({ id })
          .select(query.sold === undefined ? ['title', 'room_id'] : ['*'])
          .first<Piece>();
        const room =
          query.sold === undefined
            ? await roomOf(roomId, query.fresh === undefined)
            : { name: piece.room_name };
        res.json({ title: piece.title, room: { ...room, id: undefined } });
      });
      app.get('/rooms/:id', ({ params: { id } }, res) => void res.json(rooms.get(Number(id))));
      app.put('/rooms/:id', async ({ params, body, query }, res) => {
        const id = Number(params.id);
        const change = knex('rooms')
          .where({ id })
          .update(body as object);
        await (query.undone === undefined
          ? change
          : knex
              .transaction(async (trx) => {
                await change.transacting(trx);
                throw new Error('undone');
              })
              .catch(() => undefined));
        if (query.clear !== undefined) rooms.delete(id);
        res.json({ done: true });
      });
      app.post('/rooms/:id', async ({ params }, res) => {
        const id = Number(params.id);
        await knex('rooms').insert({ id, name: 'North Gallery', floor: 1 });
        await knex('pieces').insert({ id, title: 'Harbour', room_id: id, room_name: 'North Gallery' });
        res.send('done');
      });
    },
  );
  let id = 1;
  const put = (how = '') =>
    ask(`/rooms/${id}${how}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Lindqvist Hall', floor: 2 }),
    });
  const another = () => ask(`/rooms/${++id}`, { method: 'POST' });

  for (const [path, what] of [
    ['pieces', 'room'],
    ['rooms', 'the response'],
  ] as const)
    it(`names who read the old row, and who changed it: ${path}`, async () => {
      await another();
      const first = await ask(`/pieces/${id}`);
      const changed = await put();
      const [finding] = (await ask(`/${path}/${id}`)).of('held-in-process');
      expect(finding?.sentence).to.equal(
        `name and floor of ${what} are as GET /pieces/:id (${first.profile.token}) read row ${id} of rooms. PUT /rooms/:id (${changed.profile.token}) had other values of it since, and this request did not read it: the process holds the old ones`,
      );
      expect(finding?.place).to.match(/memory\.test\.ts:\d+$/);
    });

  it('is silent where the entry is deleted, the row is read, nothing was changed, or the value is a copy in another row', async () => {
    for (const [how, then] of [
      ['?clear', ''],
      ['', '?fresh'],
      ['?undone', ''],
      ['', '?sold'],
    ] as const) {
      await another();
      await ask(`/pieces/${id}`);
      await put(how);
      expect((await ask(`/pieces/${id}${then}`)).of('held-in-process'), `${how} ${then}`).to.deep.equal([]);
    }
  });
});
