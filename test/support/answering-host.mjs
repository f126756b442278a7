/**
 * An Express application that answers in every way there is, run by itself: asks itself over raw sockets and prints what came
 * back, byte by byte, as JSON. Run with `watched` it mounts the profiler first; what it prints must be the same.
 *
 *   node answering-host.mjs plain|watched
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, request, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, pipeline, Readable } from 'node:stream';
import { inspect } from 'node:util';
import express from 'express';

const [mode] = process.argv.slice(2);
const files = mkdtempSync(join(tmpdir(), 'hindsight-answers-'));
writeFileSync(join(files, 'digits.txt'), '0123456789'.repeat(20));
utimesSync(join(files, 'digits.txt'), 1e9, 1e9);
writeFileSync(join(files, 'page.tpl'), 'hello NAME');

/** What happens beside the answers: errors, warnings, output. */
const seen = [];
const note = (...what) => seen.push(what.join(' ').replaceAll(files, ''));
process.on('warning', ({ name, message }) => note('warning', name, message));
process.on('unhandledRejection', (reason) => note('unhandled', reason?.message ?? reason));
process.on('uncaughtException', (error) => note('uncaught', error.message));

/** What the code throws, as text. */
function attempt(run) {
  try {
    const result = run();
    return result === undefined ? 'undefined' : typeof result;
  } catch (error) {
    return `${error.name} ${error.code} ${error.message}`;
  }
}

const app = express();
app.set('views', files).set('view engine', 'tpl').set('env', 'production');
app.engine('tpl', (_path, { name }, done) => done(null, `hello ${name}`));

let profiler = null;
if (mode === 'watched') {
  const { createProfiler } = await import('../../dist/app/index.js');
  profiler = createProfiler({ warn: (sentence) => note('profiler', sentence), Router: express.Router });
  app.use(profiler.watch, profiler.pages);
  profiler.watchApp(app);
}

const CASES = {
  string: (_q, res) => res.send('text'),
  buffer: (_q, res) => res.send(Buffer.from([0, 255, 10, 13])),
  bytes: (_q, res) => res.send(new Uint8Array([1, 2, 3])),
  object: (_q, res) => res.send({ a: 1 }),
  nothing: (_q, res) => res.send(null),
  undefined: (_q, res) => res.send(undefined),
  boolean: (_q, res) => res.send(true),
  number: (_q, res) => res.send(7),
  json: (_q, res) => res.json({ a: ['<', 'ü'] }),
  circular: (_q, res) => {
    const value = {};
    value.value = value;
    res.json(value);
  },
  jsonp: (_q, res) => res.jsonp({ a: 1 }),
  redirect: (_q, res) => res.redirect('/elsewhere?a=ü'),
  redirect301: (_q, res) => res.redirect(301, '..'),
  sendStatus: (_q, res) => res.sendStatus(418),
  oddStatus: (_q, res) => res.status(299).end(),
  badStatus: (_q, res) => res.end(attempt(() => res.writeHead(1000))),
  sendFile: (_q, res) => res.sendFile(join(files, 'digits.txt'), { lastModified: false }),
  missingFile: (_q, res) => res.sendFile(join(files, 'none')),
  missingFileCallback: (_q, res) => res.sendFile(join(files, 'none'), (error) => res.end(String(error.code))),
  download: (_q, res) => res.download(join(files, 'digits.txt'), 'ü.txt', { lastModified: false }),
  render: (_q, res) => res.render('page', { name: 'you' }),
  renderMissing: (_q, res) => res.render('none'),
  renderCallback: (_q, res) => res.render('page', { name: 'x' }, (_e, html) => res.send(html + html)),
  format: (_q, res) => res.format({ html: () => res.send('<p>'), json: () => res.json([]) }),
  attachment: (_q, res) => res.attachment('a.png').end(),
  links: (_q, res) => res.links({ next: '/2' }).type('txt').location('/x').vary('A').vary('B').end('x'),
  cookies: (_q, res) => res.cookie('a', '1').cookie('b', { c: 1 }).clearCookie('d').end(),
  setCookies: (_q, res) => {
    res.setHeader('Set-Cookie', ['a=1', 'b=2']);
    res.append('Set-Cookie', 'c=3').append('Link', ['<x>', '<y>']).end();
  },
  end: (_q, res) => res.end(),
  endText: (_q, res) => res.end('ü'),
  endLatin: (_q, res) => res.end('ü', 'latin1'),
  endHex: (_q, res) => res.end('ff00', 'hex'),
  endCallback: (_q, res) => res.end('x', () => note('end callback')),
  endOnlyCallback: (_q, res) => res.end(() => note('only callback')),
  endTwice: (_q, res) => {
    res.once('error', (error) => note('end twice', error.code));
    res.end('once');
    res.end('twice', (error) => note('callback of the second', error?.code));
  },
  endNumber: (_q, res) => res.end(attempt(() => res.end(7))),
  endUnknownEncoding: (_q, res) =>
    note(
      'end',
      attempt(() => res.end('x', 'klingon')),
    ) ?? res.socket?.destroy(),
  writeUnknownEncoding: (_q, res) => {
    res.write('first');
    note(
      'write',
      attempt(() => res.write('x', 'klingon')),
    );
    res.end();
  },
  writeNothing: (_q, res) =>
    res.end(
      `${attempt(() => res.write())} ${attempt(() => res.write(null))} ${attempt(() => res.write(''))}`,
    ),
  writeObject: (_q, res) => res.end(attempt(() => res.write({}))),
  pieces: async (_q, res) => {
    note(
      'write gives',
      res.write('a'),
      res.write('ü', 'latin1'),
      res.write(Buffer.from('c'), () => note('written')),
    );
    await new Promise(setImmediate);
    res.write(new Uint8Array([65]));
    res.end('d', 'utf8');
  },
  large: (_q, res) => note('large', res.write('x'.repeat(200_000))) ?? res.once('drain', () => res.end('y')),
  corked: (_q, res) => {
    res.cork();
    res.write('a');
    res.write('b');
    res.uncork();
    res.end();
  },
  afterEnd: (_q, res) => {
    res.on('error', (error) => note('write after end', error.code));
    res.end('x');
    note('after end gives', res.write('late'));
  },
  pipe: (_q, res) => Readable.from(['a', Buffer.from('b')]).pipe(res),
  pipeline: (_q, res) =>
    pipeline(Readable.from(['a']), new PassThrough(), res, (error) => note('pipeline', error)),
  pipeFails: (_q, res) => {
    const source = new PassThrough();
    source.write('begin');
    setTimeout(() => source.destroy(new Error('the source fails')), 5);
    pipeline(source, res, (error) => note('pipeline', error?.message));
  },
  writeHead: (_q, res) => res.writeHead(201, { 'X-Case': 'a', b: ['1', '2'] }).end('x'),
  writeHeadMessage: (_q, res) => res.writeHead(202, 'All Fine', { 'content-length': 1 }).end('x'),
  writeHeadFlat: (_q, res) => res.writeHead(200, ['A', '1', 'a', '2']).end('x'),
  writeHeadPairs: (_q, res) => res.writeHead(200, [['A', '1'], ['B', '2']]).end('x'), // prettier-ignore
  writeHeadOdd: (_q, res) => res.end(attempt(() => res.writeHead(200, ['A']))),
  writeHeadMerges: (_q, res) => {
    res.setHeader('A', '1');
    res.setHeader('B', '1');
    res
      .writeHead(200, { a: '2' })
      .end(JSON.stringify(res.getHeaderNames().filter((n) => !/^x-debug/.test(n))));
  },
  writeHeadTwice: (_q, res) => res.writeHead(200).end(attempt(() => res.writeHead(201))),
  badHeaders: (_q, res) =>
    res.end(
      [
        attempt(() => res.setHeader('a b', '1')),
        attempt(() => res.setHeader('a', 'x\ny')),
        attempt(() => res.setHeader('a')),
        attempt(() => res.setHeader()),
        attempt(() => res.setHeader(7, 'a')),
        attempt(() => res.appendHeader('a b', '1')),
        attempt(() => res.appendHeader('b', undefined)),
        attempt(() => res.removeHeader()),
        attempt(() => res.removeHeader(Symbol.iterator)),
        attempt(() => res.setHeaders('x')),
      ].join('\n'),
    ),
  headers: (_q, res) => {
    res.appendHeader('A', '1').appendHeader('a', ['2', '3']);
    res.setHeaders?.(new Map([['m', '1']]));
    res.removeHeader('X-Powered-By');
    res.removeHeader('none');
    res.set({ q: 1, 'Content-Type': 'text/x' }).end();
  },
  tooLate: (_q, res) => {
    res.flushHeaders();
    res.end(
      [
        attempt(() => res.setHeader('a', '1')),
        attempt(() => res.appendHeader('a', '1')),
        attempt(() => res.removeHeader('a')),
        attempt(() => res.set('a', '1')),
        attempt(() => res.cookie('a', '1')),
        attempt(() => res.writeHead(200)),
        attempt(() => res.writeContinue()),
        attempt(() => res.json({})),
        attempt(() => res.redirect('/')),
      ].join('\n'),
    );
  },
  interim: (_q, res) => {
    res.writeContinue();
    res.writeProcessing();
    res.writeEarlyHints({ link: '</a.css>; rel=preload' }, () => note('hints'));
    res.end('x');
  },
  trailers: (_q, res) => {
    res.writeHead(200, { Trailer: 'x-sum' });
    res.write('a');
    res.addTrailers({ 'x-sum': '1' });
    res.end();
  },
  strict: (_q, res) => {
    res.strictContentLength = true;
    res.setHeader('content-length', 3);
    res.end(attempt(() => res.write('more than that')).length > 0 ? 'abc' : '');
  },
  noDate: (_q, res) => {
    res.sendDate = false;
    res.end('x');
  },
  noContent: (_q, res) => res.status(204).send('ignored'),
  noBody304: (_q, res) => res.writeHead(304).end('ignored'),
  closing: (_q, res) => res.set('Connection', 'close').end('x'),
  chunkedOff: (_q, res) => {
    res.useChunkedEncodingByDefault = false;
    res.write('until the end');
    res.end();
  },
  events: (req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    let count = 0;
    const timer = setInterval(() => {
      res.write(`data: ${count}\n\n`);
      res.flush?.();
      if (++count === 3) {
        clearInterval(timer);
        res.end();
      }
    }, 2);
  },
  slow: (_q, res) => {
    res.write('begun');
    void settle(10).then(() => note('late write', res.write('late'), res.end('end') === res));
  },
  throws: () => {
    throw new Error('thrown');
  },
  throwsNull: () => {
    throw null;
  },
  throwsStatus: () => {
    throw Object.assign(new Error('teapot'), { status: 418, expose: true, headers: { 'x-e': '1' } });
  },
  /** The first line of a stack is written when it is read for the first time. */
  throwsUnnamed: () => {
    throw Object.assign(new Error('unnamed'), { isUnnamed: true });
  },
  passesUnnamed: (_q, _res, next) => next(Object.assign(new Error('unnamed'), { isUnnamed: true })),
  rejectsUnnamed: async () => {
    const controller = new AbortController();
    controller.abort(Object.assign(new Error('unnamed'), { isUnnamed: true }));
    await fetch(`http://127.0.0.1:${upstream.address().port}`, { signal: controller.signal });
  },
  rejects: async () => {
    await null;
    throw new Error('rejected');
  },
  throwsLate: (_q, res) => {
    res.write('begun');
    throw new Error('too late');
  },
  throwsAfterEnd: (_q, res) => {
    res.end('done');
    throw new Error('after the end');
  },
  nextRoute: (_q, _res, next) => next('route'),
  nextRouter: (_q, _res, next) => next('router'),
  uncaught: (_q, res) => {
    setImmediate(() => {
      setImmediate(() => res.end('after'));
      throw new Error('nobody catches');
    });
  },
  unhandled: (_q, res) => {
    void Promise.reject(new Error('nobody handles'));
    setTimeout(() => res.end('after'), 2);
  },
  destroys: (_q, res) => res.destroy(),
  destroysError: (_q, res) => {
    res.on('error', (error) => note('destroyed', error.message));
    res.write('x');
    setTimeout(() => res.destroy(new Error('on purpose')), 3);
  },
  replacedEnd: (_q, res) => {
    const { end, write, writeHead, setHeader } = res;
    res.end = function (...args) {
      note('end', args.length, arguments.length);
      return end.apply(this, args);
    };
    res.write = (...args) => note('write', args.length) ?? write.apply(res, args);
    res.writeHead = (...args) => note('writeHead', args.length) ?? writeHead.apply(res, args);
    res.setHeader = (...args) => note('setHeader', args.length) ?? setHeader.apply(res, args);
    res.write('a');
    res.end('b');
  },
  replacedHead: (_q, res) => {
    const { writeHead } = res;
    res.writeHead = function (...args) {
      res.writeHead = writeHead;
      res.setHeader('x-hook', '1');
      return writeHead.apply(this, args);
    };
    res.send('x');
  },
  deletedHead: (_q, res) => {
    res.writeHead = () => note('never');
    note('deleted', delete res.writeHead, Object.hasOwn(res, 'writeHead'));
    res.send('x');
  },
  keepsGiven: (_q, res) => {
    const given = () => res;
    const { writeHead } = res;
    res.writeHead = given;
    note('kept', Object.keys(res).includes('writeHead'));
    res.writeHead = writeHead;
    res.end('x');
  },
  frozenHead: (_q, res) => {
    const head = res.writeHead;
    Object.defineProperty(res, 'writeHead', { value: (...args) => head.apply(res, args) });
    res.end('x');
  },
  subclass: (_q, res) => {
    class Sub extends ServerResponse {
      extra() {
        return this.end('of the subclass');
      }
    }
    Object.setPrototypeOf(res, Sub.prototype);
    res.setHeader('a', '1');
    res.extra();
  },
  derived: (_q, res) => {
    const end = res.end;
    const derived = Object.create(res);
    derived.setHeader('a', '1');
    end.call(res, 'derived');
  },
  proxied: (_q, res) => {
    const proxy = new Proxy(res, {
      get: (target, name) => (typeof target[name] === 'function' ? target[name].bind(target) : target[name]),
    });
    proxy.setHeader('a', '1');
    proxy.writeHead(200);
    proxy.end('proxied');
  },
  names: (_q, res) => {
    res.set('X-B', '1');
    const own = ({ ...headers }) =>
      Object.fromEntries(Object.entries(headers).filter(([n]) => !/^x-debug/.test(n)));
    res.json([
      own(res.getHeaders()),
      res.getHeaderNames().filter((name) => !/^x-debug/.test(name)),
      res.getRawHeaderNames?.().filter((name) => !/^x-debug/i.test(name)),
      res.hasHeader('x-b'),
      res.headersSent,
    ]);
  },
  keys: (req, res) => {
    const all = [];
    for (const name in res) all.push(name);
    const requestNames = [];
    for (const name in req) requestNames.push(name);
    res.json([
      Object.keys(res),
      Object.keys(req).sort(),
      all.sort(),
      requestNames.sort(),
      Object.getOwnPropertyNames(res),
    ]);
  },
  kinds: (req, res) =>
    res.json([
      res instanceof ServerResponse,
      Object.prototype.toString.call(res),
      res.constructor.name,
      res.write.name.length > 0,
      [res.write, res.end, res.setHeader, res.appendHeader, res.writeHead, res.removeHeader].map(
        (f) => f.length,
      ),
    ]),
  methodNames: (_q, res) =>
    res.json(['write', 'end', 'setHeader', 'appendHeader', 'removeHeader'].map((n) => res[n].name)),
  inspected: (_q, res) => {
    const names = Object.keys(
      JSON.parse(
        JSON.stringify(res, (key, value) => (key === '' || typeof value !== 'object' ? value : null)),
      ),
    );
    res.json([names.sort(), inspect(res, { depth: -1 })]);
  },
  listeners: (req, res) => {
    // The profiler's own is one of the ten that Node takes.
    for (let i = 0; i < 9; i++) res.on('close', () => undefined);
    for (let i = 0; i < 10; i++) {
      res.on('finish', () => undefined);
      req.on('close', () => undefined);
    }
    res.end('x');
  },
  eventNames: (req, res) =>
    res.json([res.listenerCount('finish'), res.listenerCount('error'), req.eventNames().map(String)]),
  order: (req, res) => {
    for (const name of ['prefinish', 'finish', 'close']) res.on(name, () => note('order', name));
    req.on('close', () => note('order', 'request closed'));
    res.end('x');
  },
  console: (_q, res) => {
    console.log('%s is %d', 'a', 1, { deep: { er: { than: { two: 1 } } } });
    console.error(new Error('x').message, [1]);
    console.table([{ a: 1 }]);
    console.dir({ a: { b: { c: { d: 1 } } } }, { depth: 0 });
    console.group('g');
    console.info('in');
    console.groupEnd();
    console.assert(false, 'not so');
    console.trace('here');
    note(
      'stdout',
      process.stdout.write('bytes\n', 'latin1', () => note('flushed')),
      process.stdout.write(new Uint8Array([65, 10])),
    );
    note(
      'bad write',
      attempt(() => process.stdout.write(7)),
      attempt(() => process.stdout.write('6869\n', 'hex')),
    );
    res.end('x');
  },
};

for (const [name, handler] of Object.entries(CASES)) app.all(`/${name}`, handler);
app.post('/echo', (req, res) => req.pipe(res));
app.post('/text', express.text({ type: '*/*' }), (req, res) => res.send(req.body));
app.post('/json', express.json(), (req, res) => res.send(req.body));
app.post('/late', (req, res) => setTimeout(() => req.pipe(res), 5));
app.post('/iterated', async (req, res) => {
  let bytes = 0;
  for await (const chunk of req) bytes += chunk.length;
  res.send({ bytes });
});
app.post('/unread', (_q, res) => res.send('not read'));
const sub = express();
sub.get('/inner', (req, res) => res.send([req.baseUrl, req.url, req.originalUrl]));
sub.get('/throws', () => {
  throw new Error('in the mounted one');
});
app.use('/sub', sub);
const other = express();
other.disable('x-powered-by').get('/called/inner', (_q, res) => res.cookie('a', '1').send('of another'));
app.use('/called', (req, res) => {
  req.url = req.originalUrl;
  other.handle(req, res, (error) => note('fell through', error));
});
app.param('asked', (_q, _r, next, value, name) => next(note('param', value, name)));
app.use('/next/:asked', (req, res, next) => res.send([next === req.next, next.name, next.length]));
app.use('/static', express.static(files, { lastModified: false, setHeaders: (res) => res.set('X-S', '1') }));

const upstream = createServer((_q, res) =>
  res.writeHead(200, { 'x-up': '1', 'set-cookie': ['a=1', 'b=2'] }).end('from above'),
);
await once(upstream.listen(0, '127.0.0.1'), 'listening');
app.use('/proxy', (req, res) => {
  const { host: _host, ...headers } = req.headers;
  const out = request({ port: upstream.address().port, method: req.method, headers, path: '/' }, (from) => {
    const { date: _date, ...rest } = from.headers;
    res.writeHead(from.statusCode, rest);
    from.pipe(res);
  });
  req.pipe(out);
});

app.use((error, _q, _res, next) => {
  if (!error?.isUnnamed) return next(error);
  Object.assign(error, { name: 'NamedError', message: 'named' });
  note('head', error.stack.split('\n')[0]);
  next(error);
});

app.use((error, _q, res, next) => {
  note('error', error?.message ?? error);
  if (res.headersSent || process.env.DEFAULT_ERRORS) return next(error);
  res.status(error?.status ?? 500).send(`failed: ${error?.message ?? error}`.replaceAll(files, ''));
});

/** What is sent besides a plain GET of each case. */
const REQUESTS = [
  ...['string', 'json', 'end', 'pieces', 'pipe', 'sendFile', 'writeHead', 'endText', 'chunkedOff'].map((name) => `HEAD /${name} HTTP/1.1`),
  ...['string', 'pieces', 'pipe', 'chunkedOff', 'trailers', 'interim'].map((name) => `GET /${name} HTTP/1.0`),
  'GET /jsonp?callback=f HTTP/1.1', 'OPTIONS /string HTTP/1.1', 'OPTIONS /echo HTTP/1.1', 'GET /none HTTP/1.1', 'GET /%zz HTTP/1.1', 'GET /sub/inner?q HTTP/1.1',
  'GET /sub/throws HTTP/1.1', 'GET /sub/none HTTP/1.1', 'GET /called/inner HTTP/1.1', 'GET /called/none HTTP/1.1', 'GET /next/a HTTP/1.1', 'GET /static/digits.txt HTTP/1.1', 'GET /static HTTP/1.1', 'GET /proxy HTTP/1.1',
  'GET /sendFile HTTP/1.1\r\nRange: bytes=2-5', 'GET /sendFile HTTP/1.1\r\nRange: bytes=0-1,4-5', 'GET /sendFile HTTP/1.1\r\nRange: bytes=900-',
  'GET /string HTTP/1.1\r\nIf-None-Match: W/"4-Ny6bV3lV9r9tHbCbFCxrCOeqPxk"', 'GET /string HTTP/1.1\r\nIf-None-Match: *', 'GET /format HTTP/1.1\r\nAccept: application/json', 'GET /format HTTP/1.1\r\nAccept: x/y',
  'GET /string HTTP/1.1\r\nConnection: keep-alive\r\nX-A: 1\r\nX-A: 2', 'NOPE /string HTTP/1.1', 'GET /string HTTP/1.1\r\nExpect: nonsense',
  'POST /echo HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc', 'POST /late HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc', 'POST /text HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nabc', 'POST /json HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\n{"a:', 'POST /iterated HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1',
  'POST /unread HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc', 'POST /echo HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc', 'POST /iterated HTTP/1.1\r\nContent-Length: 30\r\n\r\nabc',
]; // prettier-ignore

const server = createServer(app);
await once(server.listen(0, '127.0.0.1'), 'listening');

/**
 * Lets all that is due happen. Time alone says little: a process that did not run for a while finds its timers due before
 * what came in meanwhile.
 */
async function settle(waitMs) {
  const turns = 10;
  for (let turn = 0; turn < turns; turn++) {
    await new Promise((resolve) => setTimeout(resolve, waitMs / turns));
    await new Promise((resolve) => setImmediate(setImmediate, resolve));
  }
}

/** All that comes back until the server closes, or has said nothing for a while. */
function ask(text, { waitMs = 300, leaves = false } = {}) {
  return new Promise((resolve) => {
    const chunks = [];
    const socket = connect(server.address().port, '127.0.0.1', () => socket.write(text, 'latin1'));
    const leaveWhenSilent = async () => {
      for (let heard = -1; heard < chunks.length;) {
        heard = chunks.length;
        await settle(waitMs);
      }
      socket.destroy();
    };
    void leaveWhenSilent();
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      if (leaves) socket.destroy();
    });
    socket.on('error', (error) => note('socket', error.code));
    socket.on('close', () => {
      resolve(Buffer.concat(chunks).toString('latin1'));
    });
  });
}

const comparable = (bytes) =>
  bytes
    .replace(/^x-debug-token(-link)?: .*\r\n/gim, '')
    .replace(/^Date: .*$/gim, 'Date: D')
    .replace(/^x-response-time: .*$/gim, 'X-Response-Time: T')
    .replaceAll(files, '');

function format(line) {
  const [start, ...rest] = line.split('\r\n\r\n');
  return `${start}\r\nHost: app.test\r\nConnection: close\r\n\r\n${rest.join('\r\n\r\n')}${/chunked/.test(start) ? '\r\n\r\n' : ''}`;
}

const results = {};
async function exchange(name, text, how) {
  seen.length = 0;
  const bytes = await ask(text, how);
  await settle(/slow/.test(text) ? 50 : 10);
  results[name] = [comparable(bytes), ...seen.filter((line) => !line.startsWith('profiler'))];
  for (const line of seen)
    if (line.startsWith('profiler')) (results.profiler ??= []).push(`${name}: ${line}`);
}
const lines = [...Object.keys(CASES).map((name) => `GET /${name} HTTP/1.1`), ...REQUESTS];
// The first request of a process is another one: methods are shared from then on.
await ask(format('GET /string HTTP/1.1'));
for (const line of lines) {
  if (process.env.VERBOSE) process.stderr.write(`${line}\n`);
  await exchange(line, format(line));
}
const kept = (path) => `GET /${path} HTTP/1.1\r\nHost: app.test\r\n\r\n`;
await exchange('keep-alive', kept('string'), { waitMs: 100 });
await exchange(
  'pipelined',
  ['pieces', 'events', 'string', 'writeHead', 'throws', 'endLatin', 'end'].map(kept).join(''),
  { waitMs: 200 },
);
await exchange('pipelined, then left', ['slow', 'string', 'closing', 'pieces'].map(kept).join(''), {
  leaves: true,
});
await exchange('pipelined, odd', ['slow', 'writeUnknownEncoding', 'endUnknownEncoding', 'afterEnd', 'tooLate', 'endTwice'].map(kept).join('')); // prettier-ignore
await exchange('left alone', kept('slow'), { leaves: true });
await exchange('not HTTP', 'nonsense\r\n\r\n');

await profiler?.close();
rmSync(files, { recursive: true });
process.stdout.write(`\n--- results\n${JSON.stringify(results)}\n`, () => process.exit(0));
