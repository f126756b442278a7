/**
 * What a profile page is measured against: parsing the same document (BENCH_DOCUMENT, a file) and rendering the data of the
 * same panel by one bare EJS template, on node:http.
 */
const { readFileSync } = require('node:fs');
const { createServer } = require('node:http');
const { join } = require('node:path');
const ejs = require('ejs');

const text = readFileSync(process.env.BENCH_DOCUMENT, 'utf8');
const render = ejs.compile(readFileSync(join(__dirname, 'views', 'document.ejs'), 'utf8'));

createServer((request, response) => {
  const panel = new URL(request.url, 'http://localhost').searchParams.get('panel') ?? 'request';
  const profile = JSON.parse(text);
  const page = render({ profile, name: panel, data: profile.panels[panel].data });
  response.setHeader('content-type', 'text/html; charset=utf-8');
  response.setHeader('content-length', Buffer.byteLength(page));
  response.end(page);
}).listen(Number(process.env.BENCH_PORT), '127.0.0.1');
process.once('SIGTERM', () => process.exit(0));
