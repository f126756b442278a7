/** Node-RED: many layers and four applications. */
const { createServer } = require('node:http');
const { mkdtempSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const express = require('express');
const RED = require('node-red');

const app = express();
const server = createServer(app);
RED.init(server, {
  httpAdminRoot: '/red',
  httpNodeRoot: '/api',
  userDir: mkdtempSync(join(tmpdir(), 'bench-red-')),
  logging: { console: { level: 'off' } },
});
app.use('/red', RED.httpAdmin);
app.use('/api', RED.httpNode);
void RED.start().then(() => server.listen(Number(process.env.BENCH_PORT), '127.0.0.1'));
