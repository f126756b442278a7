import { pbkdf2 } from 'node:crypto';
import { promisify } from 'node:util';
import { Router } from 'express';
import { db } from './db.js';

export const account = Router();
const derive = promisify(pbkdf2);

account.post('/login', async function login(req, res) {
  const { email, password } = req.body;
  const customer = await db('customers').where({ email }).first();
  const hash = await derive(String(password), 'salt', 20000, 32, 'sha256');
  if (customer === undefined || hash.length === 0) {
    res.status(401).json({ error: 'wrong email or password' });
    return;
  }
  req.session.customerId = customer.id;
  res.json({ name: customer.name });
});

account.get('/me', async function me(req, res) {
  if (req.session.customerId === undefined) {
    res.status(401).json({ error: 'log in first' });
    return;
  }
  const customer = await db('customers').where({ id: req.session.customerId }).first();
  res.json({ name: customer.name, theme: req.session.theme ?? 'light' });
});

account.post('/theme', function setTheme(req, res) {
  req.session.theme = req.body.theme;
  res.json({ theme: req.session.theme });
});

account.get('/greeting', function greeting(req, res) {
  const name = req.customer?.name ?? 'guest';
  res.json({ greeting: `Hello ${name}`, shop: req.settings.title });
});

account.post('/newsletter', async function subscribe(req, res) {
  await db('subscriptions').insert({ email: req.body.email }).onConflict('email').ignore();
  res.json({ subscribed: true });
});

account.get('/newsletter', async function isSubscribed(req, res) {
  const row = await db('subscriptions').where({ email: req.query.email }).first();
  res.json({ subscribed: row !== undefined });
});
