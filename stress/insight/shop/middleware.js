import { db } from './db.js';

export function tagRequest(req, res, next) {
  res.set('x-shop', 'north');
  res.vary('origin');
  next();
}

let settings = null;

export async function readSettings() {
  if (settings === null) {
    const rows = await db('settings').select('name', 'value');
    settings = Object.fromEntries(rows.map(({ name, value }) => [name, value]));
  }
  return settings;
}

export async function loadSettings(req, res, next) {
  req.settings = await readSettings();
  next();
}

export async function loadCustomer(req, res, next) {
  const id = Number(req.get('x-customer') ?? 0);
  if (id > 0) req.customer = await db('customers').where({ id }).first();
  next();
}

export function onMissing(req, res) {
  res.status(404).json({ error: 'not found' });
}

export function onError(error, req, res, next) {
  if (res.headersSent) {
    next(error);
    return;
  }
  const status = error.status ?? 500;
  res.status(status).json({ error: status < 500 ? error.message : 'internal error' });
}
