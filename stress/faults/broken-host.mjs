/**
 * A host whose profiler fails at the place that BREAK names; without BREAK it has no profiler. Prints its port.
 */
import express from 'express';
import { hindsight } from '../../dist/app/index.js';

const { BREAK } = process.env;

function fail() {
  throw new Error(`broken: ${BREAK}`);
}

/** A store that keeps nothing. */
function storeWith(broken) {
  const nothing = () => Promise.resolve(null);
  return {
    name: 'memory',
    state: { pending: 0, pendingBytes: 0, maxPendingBytes: 0, failed: 0, failing: false, notice: null },
    add: (items) => items.forEach(({ settled }) => settled?.(null)),
    amend: () => Promise.resolve(false),
    read: nothing,
    find: () => Promise.resolve({ rows: [], total: 0, totalIsExact: true }),
    async *rows() {},
    label: nothing,
    keep: () => Promise.resolve(false),
    purge: () => Promise.resolve(0),
    clear: () => Promise.resolve(0),
    setting: nothing,
    close: nothing,
    closeSync: () => undefined,
    ...broken,
  };
}

const panel = {
  name: 'broken',
  title: 'Broken',
  collect: () => ({ value: 1 }),
  rows: () => ({ figures: [], sections: [] }),
};
const rule = { name: 'broken', needs: [], labels: ['broken'], why: 'x', fix: 'x', find: () => [] };
const BROKEN = {
  none: {},
  collect: { panels: [{ ...panel, collect: fail }] },
  serialize: { panels: [{ ...panel, collect: () => ({ toJSON: fail }) }] },
  derive: { panels: [{ ...panel, data: fail }] },
  spans: { panels: [{ ...panel, recorded: { spans: fail } }] },
  summary: { panels: [{ ...panel, menu: { summary: fail } }] },
  render: { panels: [{ ...panel, rows: fail }] },
  rule: { findings: [{ ...rule, find: fail }] },
  store: { storage: storeWith({ add: fail }) },
  read: { storage: storeWith({ read: fail, find: fail }) },
  setting: { storage: storeWith({ setting: fail }) },
};

const app = express();
if (BREAK !== undefined) hindsight(app, BROKEN[BREAK]);
app.get('/', (_request, response) => response.type('html').send('<!doctype html><p>Articles</p>'));
app.get('/json', (_request, response) => response.json({ articles: [1, 2, 3] }));
app.get('/failing', () => {
  throw Object.assign(new Error('no such article'), { status: 410, expose: true });
});
app.use((error, _request, response, _next) => response.status(error.status ?? 500).send(error.message));
const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port));
