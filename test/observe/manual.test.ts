import { expect } from 'chai';
import express from 'express';
import { setImmediate as turn } from 'node:timers/promises';
import request from 'supertest';
import hindsight, { createProfiler, type Panel } from '../../app/index.ts';
import { showPanel } from '../../app/testing.ts';
import { useRecordingLimit } from '../support/recording-limit.ts';
import type { SpansData } from '../../app/panels/spans/index.ts';
import { until } from '../support/waiting.ts';

declare module '../../app/profiler/record/facts.ts' {
  interface Facts {
    ticket: { id: number };
  }
}

const ticketPanel: Panel<{ ids: number[] }> = {
  name: 'tickets',
  title: 'Tickets',
  collect(context) {
    const facts = context.all('ticket');
    return facts.length === 0 ? null : { ids: facts.map(({ id }) => id) };
  },
  recorded: { nothing: { what: 'No ticket was sold.' } },
  rows: ({ ids }) => ({
    sections: [{ id: 'tickets', title: 'Tickets', rows: ids.map((id) => ({ label: `ticket ${id}` })) }],
  }),
};

/** As no panel should be: what it returns is no plain data. */
function oddPanel(name: string, data: unknown): Panel {
  return { name, title: name, collect: () => data };
}

describe('what an application records by itself', () => {
  it('is masked, or an error of its panel alone, if it is no plain data', async () => {
    const app = express();
    const fails = {
      toJSON: () => {
        throw new Error('no JSON');
      },
    };
    const hides = { toJSON: () => ({ password: 'hunter2hunter2' }) };
    const panels = [oddPanel('huge', { one: 1n }), oddPanel('fails', fails), oddPanel('hides', hides)];
    const profiler = hindsight(app, { panels, warn: () => undefined });
    app.get('/', (_request, response) => void response.send('fine'));
    const { headers } = await request(app).get('/').expect(200, 'fine');
    const { profile } = (await profiler.profiles.read(headers['x-debug-token']!))!;
    expect(profile.panels.huge?.error).to.match(/BigInt/);
    expect(profile.panels.fails?.error).to.equal('Error: no JSON');
    expect(profile.panels.hides?.data).to.deep.equal({ password: '[masked 1, string]' });
    await profiler.close();
  });

  it('refuses a panel whose name is taken, or is none', () => {
    const said: string[] = [];
    for (const name of ['logs', 'My-Panel'])
      hindsight(express(), { panels: [oddPanel(name, {})], warn: (sentence) => said.push(sentence) });
    expect(said[0]).to.contain('there is a panel "logs" already');
    expect(said[1]).to.contain('"My-Panel" is not a valid panel name');
  });

  it('are spans, also nested, asynchronous and failing, and facts for a panel of its own', async () => {
    const app = express();
    const profiler = hindsight(app, { panels: [ticketPanel], warn: () => undefined });
    app.get('/', async (_request, response) => {
      const seven = await profiler.span('outer', async () => {
        await turn();
        return profiler.span('inner', () => 7);
      });
      const failed = await profiler
        .span('broken', () => Promise.reject(new Error('no')))
        .catch((error: unknown) => (error as Error).message);
      profiler.fact('ticket', { id: 5 });
      response.json({ seven, failed });
    });
    const { text: json, headers } = await request(app).get('/').expect(200);
    expect(JSON.parse(json)).to.deep.equal({ seven: 7, failed: 'no' });
    const { profile } = (await profiler.profiles.read(headers['x-debug-token']!))!;
    const { items: spans } = profile.panels.spans!.data as SpansData;
    expect(spans.map(({ name, inside, error }) => [name, inside, error])).to.deep.equal([
      ['outer', null, null],
      ['inner', 0, null],
      ['broken', null, 'Error: no'],
    ]);
    for (const span of spans) {
      expect(span.durationMs).to.be.a('number');
      expect(span.caller).to.match(/^test\/observe\/manual\.test\.ts:\d+$/);
    }
    expect(profile.panels.tickets!.data).to.deep.equal({ ids: [5] });
    const { text } = await request(app).get(`/_profiler/${profile.token}?panel=spans`).expect(200);
    expect(text).to.include('outer').and.include('Error: no');
    await profiler.close();
  });

  it('run their work whatever they are named', async () => {
    const app = express();
    const profiler = hindsight(app, { warn: () => undefined });
    const names = [undefined, 7, Symbol('s'), new Proxy({}, { get: () => expect.fail('read') })];
    app.get('/', (_request, response) => {
      response.json(names.map((name, at) => profiler.span(name as unknown as string, () => at)));
    });
    const { headers } = await request(app).get('/').expect(200, [0, 1, 2, 3]);
    const { profile } = (await profiler.profiles.read(headers['x-debug-token']!))!;
    const { items: spans } = profile.panels.spans!.data as SpansData;
    expect(spans.map(({ name }) => name)).to.deep.equal([
      '[undefined]',
      '7',
      'Symbol(s)',
      '[Proxy, not read]',
    ]);
    expect(await profiler.record('command', 7 as unknown as string, () => 8)).to.equal(8);
    await profiler.close();
  });

  it('are bound to their request in a queue of the application, which runs all in that of its first', async () => {
    const app = express();
    const profiler = hindsight(app, { warn: () => undefined });
    const waiting: (() => unknown)[] = [];
    let isRunning = false;
    async function work(): Promise<void> {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        await turn();
        next();
      }
      isRunning = false;
    }
    app.get('/:id', (req, res) => {
      waiting.push(
        profiler.bind(() => {
          console.log('for', req.params.id);
          res.send('ok');
        }),
      );
      if (isRunning) return;
      isRunning = true;
      void work();
    });
    const responses = await Promise.all([1, 2, 3].map((id) => request(app).get(`/${id}`)));
    for (const [at, { headers }] of responses.entries()) {
      const { profile } = (await profiler.profiles.read(headers['x-debug-token']!))!;
      const { lines } = profile.panels.logs?.data as { lines: { message: string }[] };
      expect(lines.map(({ message }) => message)).to.deep.equal([`for ${at + 1}`]);
    }
    expect(profiler.bind(Math.max)).to.equal(Math.max);
    await profiler.close();
  });

  it('only run outside of a request', async () => {
    const profiler = createProfiler({ warn: () => undefined });
    expect(profiler.span('x', () => 1)).to.equal(1);
    expect(() => profiler.span('x', () => { throw new Error('own'); })).to.throw('own'); // prettier-ignore
    expect(profiler.fact('ticket', { id: 1 })).to.equal(false);
    await profiler.close();
  });

  it('are commands: profiles of their own, with their spans and what they throw', async () => {
    const profiler = createProfiler({ warn: () => undefined });
    expect(await profiler.record('command', 'import', () => profiler.span('read', () => 3))).to.equal(3);
    const thrown: unknown = await profiler
      .record('command', 'broken', () => {
        throw new Error('no import');
      })
      .catch((error: unknown) => error);
    expect((thrown as Error).message).to.equal('no import');
    const { rows } = await profiler.profiles.find({ kinds: ['command'], limit: 10, offset: 0 });
    expect(rows.map(({ kind, error }) => [kind, error !== null]).sort()).to.deep.equal([
      ['command', false],
      ['command', true],
    ]);
    await profiler.close();
  });

  describe('above the limit', () => {
    useRecordingLimit();

    it('are summaries: how long they took, and what they threw', async () => {
      const profiler = createProfiler({ warn: () => undefined, fullPerSecond: 0 });
      await profiler.record('command', 'import', () => profiler.span('read', () => 3));
      await profiler.record('command', 'broken', () => Promise.reject(new Error('no'))).catch(() => 0);
      const { rows } = await profiler.profiles.find({ kinds: ['command'], limit: 10, offset: 0 });
      expect(rows.map(({ url, summary, error }) => [url, summary, error]).sort()).to.deep.equal([
        ['broken', 'limit', 'Error: no'],
        ['import', 'limit', null],
      ]);
      const app = express();
      profiler.attach(app);
      const page = await request(app).get(`/_profiler/${rows[0]?.token}`).redirects(1).expect(200);
      expect(page.text).to.include('Recorded as a summary').and.not.include('x-debug-profile');
      await until(() => profiler.counters().stored === 2, 'both are stored');
      expect(profiler.counters()).to.include({ tokens: 2 });
      await profiler.close();
    });
  });
});

describe('express-hindsight/testing', () => {
  it('shows what a panel makes of facts', () => {
    const { data, rows } = showPanel(ticketPanel, (context) => context.add('ticket', { id: 9 }));
    expect(data).to.deep.equal({ ids: [9] });
    expect(rows?.sections?.[0]?.rows).to.deep.equal([{ label: 'ticket 9' }]);
    expect(showPanel(ticketPanel, () => undefined)).to.deep.equal({ data: null, rows: null });
  });
});
