import hindsight from 'express-hindsight';
import { createApp } from './app.js';
import { db } from './db.js';
import express from 'express';

const app = express();
const profiler = hindsight(app);
profiler.watchKnex(db);
createApp(app);
await Promise.all(Array.from({ length: 4 }, () => db.raw('select pg_sleep(0.02)')));
const server = app.listen(0, '127.0.0.1', () => {
  process.send({ port: server.address().port });
});
process.on('unhandledRejection', () => {});
process.on('message', () => process.exit(0));
