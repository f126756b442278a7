import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Router } from 'express';
import { db } from './db.js';

export const files = Router();

async function* csvOf(rows) {
  for (const row of rows) yield `${row.id};${row.total}\n`;
}

files.get('/orders.csv', async function exportOrders(req, res) {
  const rows = await db('orders').select('id', 'total').orderBy('id').limit(500);
  res.type('text/csv');
  await pipeline(Readable.from(csvOf(rows)), res);
});

files.get('/events', function events(req, res) {
  res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' });
  res.write('data: hello\n\n');
  res.end();
});

files.post('/avatar', async function uploadAvatar(req, res) {
  let bytes = 0;
  for await (const chunk of req) bytes += chunk.length;
  res.json({ bytes });
});

files.get('/logo', function logo(req, res) {
  res
    .set('cache-control', 'public, max-age=3600')
    .type('svg')
    .send('<svg xmlns="http://www.w3.org/2000/svg"/>');
});
