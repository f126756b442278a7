/** A host that uses a library for each panel that the shop has nothing for, to take pictures of them. Needs the parts of run.ts. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import type * as bullmq from 'bullmq';
import express from 'express';
import type * as graphql from 'graphql';
import type { Redis } from 'ioredis';
import type * as nodemailer from 'nodemailer';
import { hindsight } from '../../app/index.ts';
import { sharedPart } from './shared-part.ts';

const SCHEMA = 'type Query { cart: [Item!]! offer: String } type Item { name: String! stock: Int! }';
const QUERY = 'query Cart($currency: String!) {\n  cart { name stock }\n  offer\n}';

export async function startLibrariesHost(): Promise<{ origin: string; close(): Promise<void> }> {
  const path = await sharedPart<string>('redis');
  const app = express();
  const profiler = hindsight(app);
  // Loaded behind the profiler, as in a host.
  const load = createRequire(import.meta.url);
  const { Queue } = load('bullmq') as typeof bullmq;
  const { buildSchema, graphql: run } = load('graphql') as typeof graphql;
  const { createTransport } = load('nodemailer') as typeof nodemailer;
  const Client = load('ioredis') as typeof Redis;
  const redis = new Client({ path });
  const queue = new Queue('mails', { connection: { path, maxRetriesPerRequest: null } });
  const post = createTransport({ jsonTransport: true });
  const schema = buildSchema(SCHEMA);
  const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

  app.get('/cart', async (_req, res) => {
    await redis.set('cart:7:owner', 'ada', 'EX', 900);
    for (const id of [3, 5, 8, 13, 21]) await redis.get(`product:${id}:stock`);
    await redis.multi().hset('cart:7', 'items', '5', 'token', 'c0ffee').expire('cart:7', 900).exec();
    await redis.incr('cart:7').catch(() => null);
    res.send('5 items');
  });
  app.get('/orders/7/confirm', async (_req, res) => {
    const from = 'Shop <shop@shop.example>';
    await post.sendMail({
      from,
      to: ['ada@shop.example', 'charles@shop.example'],
      subject: 'Your order 7',
      text: 'Thank you, Ada.\n\nYour kettle is on its way.',
      html: '<p>Thank you, <b>Ada</b>.</p><p>Your kettle is on its way.</p>',
      attachments: [{ filename: 'invoice-7.pdf', content: Buffer.alloc(48_210) }],
    });
    await queue.add('reminder', { order: 7, email: 'ada@shop.example' }, { delay: 86_400_000 });
    await queue.add('stock', { products: [3, 5, 8] });
    res.send('Confirmed');
  });
  app.get('/graphql', async (_req, res) => {
    const rootValue = {
      cart: async () => {
        await pause(4);
        return [3, 5, 8].map((id) => ({ name: `Kettle ${id}`, stock: () => pause(2).then(() => id) }));
      },
      offer: () => Promise.reject(new Error('No offer for this customer')),
    };
    res.json(await run({ schema, source: QUERY, rootValue, variableValues: { currency: 'EUR' } }));
  });
  app.get('/thumbnails', async (_req, res) => {
    execFileSync(process.execPath, ['-e', '0']);
    try {
      execFileSync(process.execPath, ['-e', 'process.exit(3)', '--password', 'hunter22'], {
        stdio: 'ignore',
      });
    } catch {
      // What a failed child process looks like.
    }
    await profiler.span('Resize 3 pictures', async () => {
      for (const size of [64, 256, 1024]) await profiler.span(`Resize to ${size} px`, () => pause(size / 32));
    });
    res.send('3 pictures');
  });

  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      await queue.obliterate({ force: true });
      await queue.close();
      redis.disconnect();
      server.closeAllConnections();
      server.close();
      await profiler.close();
    },
  };
}
