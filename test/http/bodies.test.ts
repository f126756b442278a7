/** Limits, parsers and uploads, over a raw socket where a client library would not go. */
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import express from 'express';
import type { Express } from 'express';
import multer from 'multer';
import { expectError } from '../support/error-answer.ts';
import { echo, startHttpApp } from '../support/http-app.ts';
import type { HttpApp, Recorded } from '../support/http-app.ts';
import { exchange, head } from '../support/raw-http.ts';
import type { RawResponse } from '../support/raw-http.ts';
import { WITHIN_MS } from '../support/waiting.ts';

const MIB = 1024 * 1024;
const LIMIT = 4 * MIB;
const JSON_TYPE = { 'content-type': 'application/json' };
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' };
const MULTIPART_TYPE = { 'content-type': 'multipart/form-data; boundary=bb' };

interface Part {
  name: string;
  value: string | Buffer;
  filename?: string;
}

function multipart(parts: readonly Part[]): Buffer {
  const chunks = parts.flatMap(({ name, value, filename }) => {
    const file =
      filename === undefined ? '' : `; filename="${filename}"\r\nContent-Type: application/octet-stream`;
    return [
      Buffer.from(`--bb\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`),
      Buffer.from(value),
      Buffer.from('\r\n'),
    ];
  });
  return Buffer.concat([...chunks, Buffer.from('--bb--\r\n')]);
}

function post(path: string, headers: Record<string, string>, body: string | Buffer): (string | Buffer)[] {
  const length = String(Buffer.byteLength(body));
  return [head(`POST ${path}`, { ...headers, 'content-length': length }), Buffer.from(body)];
}

function chunked(
  path: string,
  headers: Record<string, string>,
  pieces: readonly Buffer[],
): (string | Buffer)[] {
  const framed = pieces.flatMap((piece) => [`${piece.length.toString(16)}\r\n`, piece, '\r\n']);
  return [head(`POST ${path}`, { ...headers, 'transfer-encoding': 'chunked' }), ...framed, '0\r\n\r\n'];
}

function addReaders(app: Express): void {
  app.post('/consumed', express.raw({ type: '*/*', limit: '20mb' }), (_req, _res, next) => {
    next();
  });
  app.post('/refuses', () => {
    throw Object.assign(new Error('not today'), { status: 403 });
  });
  app.post('/raw', express.raw({ type: '*/*', limit: '20mb' }), (req, res) => {
    res.end(String((req.body as Buffer).length));
  });
  app.post('/own-multer', multer({ storage: multer.memoryStorage() }).any(), (req, res) => {
    const files = req.files as Express.Multer.File[];
    res.json({ body: req.body as unknown, sizes: files.map(({ size }) => size) });
  });
  app.post('/iterate', async (req, res) => {
    let bytes = 0;
    for await (const chunk of req) bytes += (chunk as Buffer).length;
    res.end(String(bytes));
  });
  app.post('/pipeline', async (req, res) => {
    let bytes = 0;
    await pipeline(req, async (source) => {
      for await (const chunk of source) bytes += (chunk as Buffer).length;
    });
    res.end(String(bytes));
  });
  app.post('/paused', (req, res) => {
    let bytes = 0;
    req.on('readable', () => {
      for (let chunk = req.read() as Buffer | null; chunk !== null; chunk = req.read() as Buffer | null)
        bytes += chunk.length;
    });
    req.on('end', () => res.end(String(bytes)));
  });
  app.post('/fails', async (req) => {
    try {
      for await (const chunk of req) expect(chunk).to.be.instanceOf(Buffer);
    } catch (error) {
      failures.push(error);
      throw error;
    }
  });
  app.post('/destroys', (req) => {
    req.on('data', () => undefined).on('error', () => req.destroy());
  });
  app.post('/breaks', async (req, res) => {
    if (req.query.begun !== undefined) res.write('begun');
    const broken = new Writable({
      write: (_chunk, _encoding, done) => {
        done(Object.assign(new Error('disk full'), { status: 507 }));
      },
    });
    await pipeline(req, broken);
  });
  app.post('/begun', (req, res) => {
    res.write('begun');
    req.on('data', () => undefined).on('end', () => res.end());
  });
}

function addHandlers(app: Express): void {
  app.post('/consumed', (req, res) => {
    res.end(String((req.body as Buffer).length));
  });
  app.post('/echo', echo);
  app.put('/echo', echo);
  app.get('/ok', echo);
  app.post('/files', (req, res) => {
    const files = req.files as Express.Multer.File[];
    res.json({
      body: req.body as unknown,
      files: files.map(({ fieldname, originalname, size }) => [fieldname, originalname, size]),
    });
  });
  app.post('/slow', (_req, res) => {
    setTimeout(() => res.end('done'), 300);
  });
  app.post('/stream', (req, res) => {
    let bytes = 0;
    req.on('data', (chunk: Buffer) => (bytes += chunk.length)).on('end', () => res.end(String(bytes)));
  });
}

/** What the reader of a body that was cut off was told. */
const failures: unknown[] = [];

async function eventually(check: () => Promise<boolean>): Promise<boolean> {
  for (let i = 0; i < 150; i++) {
    if (await check()) return true;
    await sleep(50);
  }
  return false;
}

describe('bodies', () => {
  let app: HttpApp;
  before(async () => {
    app = await startHttpApp({
      limitBytes: LIMIT,
      before: addReaders,
      after: addHandlers,
    });
  });
  after(() => app.close());

  const recordOf = (response: RawResponse | undefined): Recorded => {
    const record = app.recorded.get(response?.headers['x-debug-token'] ?? '');
    if (record === undefined) throw new Error('not recorded');
    return record;
  };
  const uploadsLeft = async (): Promise<string[]> => readdir(app.uploadFolder).catch(() => []);
  const noUploadsLeft = (): Promise<boolean> => eventually(async () => (await uploadsLeft()).length === 0);

  describe('over the limit', () => {
    for (const [method, path] of [
      ['POST', '/echo'],
      ['PUT', '/echo'],
      ['POST', '/nowhere'],
      ['GET', '/ok'],
      ['OPTIONS', '/ok'],
      ['POST', '/raw'],
      ['POST', '/own-multer'],
      ['POST', '/stream'],
    ]) {
      // prettier-ignore
      it(`${method ?? ''} ${path ?? ''} is refused by its length before a byte came`, async () => {
        const request = head(`${method ?? ''} ${path ?? ''}`, { 'content-length': String(LIMIT + 1) });
        const { responses, closed, reset, timedOut } = await exchange(app.port, [request]);
        const message = `The request body is limited to 4 MiB; ${LIMIT + 1} bytes were sent.`;
        const response = expectError(app, responses[0], { status: 413, message });
        expect(response.headers.connection).to.equal('close');
        expect([closed, reset, responses.length]).to.deep.equal([true, false, 1]);
        expect(timedOut).to.equal(false);
      });
    }

    for (const path of [
      '/echo',
      '/nowhere',
      '/raw',
      '/iterate',
      '/pipeline',
      '/paused',
      '/destroys',
      '/stream',
    ]) {
      it(`a chunked one to ${path} is refused on the first byte over`, async () => {
        const parts = chunked(path, { 'content-type': 'application/octet-stream' }, [
          Buffer.alloc(LIMIT),
          Buffer.from('x'),
        ]);
        // The client goes on sending, and never ends: the answer waits for neither.
        const more = ['400000\r\n', Buffer.alloc(4 * MIB)];
        const exchanged = await exchange(app.port, [...parts.slice(0, -1), ...more]);
        const { responses, closed, reset, timedOut } = exchanged;
        const message = 'The request body is limited to 4 MiB; more than 4 MiB were sent.';
        const response = expectError(app, responses[0], { status: 413, message });
        expect(response.headers.connection).to.equal('close');
        expect([closed, reset, responses.length]).to.deep.equal([true, false, 1]);
        expect(timedOut).to.equal(false);
        expect(recordOf(response).errors).to.have.length(1);
      });
    }

    it('is told to whoever reads the body', async () => {
      failures.length = 0;
      const { responses } = await exchange(
        app.port,
        chunked('/fails', {}, [Buffer.alloc(LIMIT), Buffer.from('x')]),
      );
      expectError(app, responses[0], { status: 413 });
      expect(failures.map((error) => (error as { status?: number }).status)).to.deep.equal([413]);
    });

    it('lets the client finish what it is sending, and read the page', async () => {
      const parts = [head('POST /nowhere', { 'content-length': String(24 * MIB) }), Buffer.alloc(24 * MIB)];
      const patient = await startHttpApp({ linger: { bytes: 64 * MIB, ms: WITHIN_MS } });
      const { responses, reset } = await exchange(patient.port, parts);
      expectError(patient, responses[0], {
        status: 413,
        message: `The request body is limited to 16 MiB; ${24 * MIB} bytes were sent.`,
      });
      expect(reset).to.equal(false);
      await patient.close();
    });

    it('closes on a client that does not stop', async () => {
      const small = await startHttpApp({ limitBytes: 1000, linger: { bytes: 2 * MIB, ms: 60_000 } });
      const parts = [
        head('POST /x', { 'content-length': '999999999' }),
        ...Array.from({ length: 64 }, () => Buffer.alloc(MIB)),
      ];
      const { responses, closed, timedOut } = await exchange(small.port, parts);
      expect([responses[0]?.status ?? 413, closed, timedOut]).to.deep.equal([413, true, false]);
      await small.close();
    });

    it('closes on a client that holds on to its side', async () => {
      const small = await startHttpApp({ limitBytes: 1000, linger: { bytes: MIB, ms: 200 } });
      const socket = connect({ port: small.port, host: '127.0.0.1', allowHalfOpen: true });
      const ended = new Promise((resolve) => socket.once('end', resolve));
      socket.on('error', () => undefined).resume();
      socket.write(head('POST /x', { 'content-length': '2000' }));
      await ended;
      const count = (): Promise<number> =>
        new Promise((resolve) => small.server.getConnections((_error, open) => resolve(open)));
      expect(await count()).to.equal(1);
      expect(await eventually(async () => (await count()) === 0)).to.equal(true);
      socket.destroy();
      await small.close();
    });

    it('does not serve what is pipelined behind it', async () => {
      const parts = [
        head('POST /nowhere', { 'content-length': String(LIMIT + 1) }),
        Buffer.alloc(LIMIT + 1),
        head('GET /ok'),
      ];
      const { responses } = await exchange(app.port, parts);
      expect(responses.map(({ status }) => status)).to.deep.equal([413]);
    });

    it('closes the connection where the answer has begun', async () => {
      const parts = chunked('/begun', {}, [Buffer.alloc(LIMIT), Buffer.from('x')]);
      const { responses, closed, timedOut } = await exchange(app.port, parts);
      expect([responses.length, closed, timedOut]).to.deep.equal([0, true, false]);
    });

    it('asks for nothing where the client waits to be asked', async () => {
      const request = head('POST /echo', { 'content-length': String(LIMIT + 1), expect: '100-continue' });
      const { responses } = await exchange(app.port, [request]);
      expect(responses.map(({ status }) => status)).to.deep.equal([413]);
    });

    it('counts what a body inflates to', async () => {
      const body = gzipSync(Buffer.concat([Buffer.from('"'), Buffer.alloc(LIMIT + 10, 'x')]));
      const { responses } = await exchange(
        app.port,
        post('/echo', { ...JSON_TYPE, 'content-encoding': 'gzip' }, body),
        { count: 1 },
      );
      expectError(app, responses[0], {
        status: 413,
        message: 'The request body is limited to 4 MiB; more than 4 MiB were sent.',
      });
    });
  });

  describe('up to the limit', () => {
    it('pass by length, chunked, and asked for', async () => {
      const body = Buffer.alloc(LIMIT, 'x');
      const whole = await exchange(app.port, post('/stream', {}, body), { count: 1 });
      expect(whole.responses[0]?.body).to.equal(String(LIMIT));
      const pieces = await exchange(app.port, chunked('/stream', {}, [body]), { count: 1 });
      expect(pieces.responses[0]?.body).to.equal(String(LIMIT));
      const asked = await exchange(app.port, post('/stream', { expect: '100-continue' }, 'abc'), {
        count: 1,
      });
      expect(asked.responses.map(({ status }) => status)).to.deep.equal([100, 200]);
    });

    it('reach routers that read the stream themselves, in any way', async () => {
      for (const path of ['/raw', '/iterate', '/pipeline', '/paused']) {
        const body = Buffer.alloc(3 * MIB, 'y');
        const { responses } = await exchange(
          app.port,
          chunked(path, { 'content-type': 'a/b' }, [body.subarray(0, 7), body.subarray(7)]),
          { count: 1 },
        );
        expect(responses[0]?.body, path).to.equal(String(3 * MIB));
        const { body: fact } = recordOf(responses[0]);
        expect([fact?.bytes, fact?.preview.length, fact?.truncated]).to.deep.equal([3 * MIB, 1024, true]);
      }
    });

    it('that a router before the parsers has read are not parsed again', async () => {
      for (const headers of [MULTIPART_TYPE, JSON_TYPE, { 'content-type': 'a/b' }]) {
        const { responses } = await exchange(app.port, post('/consumed', headers, 'x'.repeat(5000)), {
          count: 1,
        });
        expect(responses[0]?.body).to.equal('5000');
      }
    });

    it('do not cost the client the page where they are refused unread and the connection closes', async () => {
      // More than the buffers of two sockets hold.
      const large = await startHttpApp({ before: addReaders, after: addHandlers });
      const parts = post('/refuses', { connection: 'close' }, Buffer.alloc(12 * MIB));
      const { responses, reset } = await exchange(large.port, parts);
      await large.close();
      expectError(large, responses[0], { status: 403, message: 'not today' });
      expect(reset).to.equal(false);
    });

    it('that a pipeline broke off are answered by its error, and the connection closes', async () => {
      for (const parts of [
        post('/breaks', {}, Buffer.alloc(4 * MIB)),
        chunked('/breaks', {}, [Buffer.alloc(4 * MIB)]),
      ]) {
        const { responses, reset, closed } = await exchange(app.port, [...parts, head('GET /ok')]);
        const { headers } = expectError(app, responses[0], { status: 507, message: 'disk full' });
        expect([headers.connection, closed, reset, responses.length]).to.deep.equal([
          'close',
          true,
          false,
          1,
        ]);
      }
      const begun = await exchange(app.port, post('/breaks?begun', {}, Buffer.alloc(4 * MIB)));
      expect([begun.responses.length, begun.timedOut]).to.deep.equal([0, false]);
    });

    it('reach an own multer', async () => {
      const body = multipart([{ name: 'a', value: '1' }, { name: 'f', value: Buffer.alloc(2 * MIB), filename: 'x.bin' }]); // prettier-ignore
      const { responses } = await exchange(app.port, post('/own-multer', MULTIPART_TYPE, body), { count: 1 });
      expect(JSON.parse(responses[0]?.body ?? '')).to.deep.equal({ body: { a: '1' }, sizes: [2 * MIB] });
      expect(await uploadsLeft()).to.deep.equal([]);
    });

    it('are answered as usual on wrong paths, byte counts recorded', async () => {
      const { responses } = await exchange(
        app.port,
        post('/nowhere', { 'content-type': 'application/octet-stream' }, Buffer.alloc(MIB, 'z')),
        { count: 1 },
      );
      expectError(app, responses[0], { status: 404, message: 'No route found for "POST /nowhere"' });
      expect(recordOf(responses[0]).body?.bytes).to.equal(MIB);
    });

    it('keep the first bytes of a trickle', async () => {
      const body = Array.from('hello, world', (letter) => Buffer.from(letter));
      const { responses } = await exchange(app.port, chunked('/nowhere', {}, body), { count: 1, pauseMs: 1 });
      const { body: fact } = recordOf(responses[0]);
      expect([fact?.preview.toString(), fact?.bytes, fact?.truncated]).to.deep.equal([
        'hello, world',
        12,
        false,
      ]);
    });

    it('that stall are not waited for on a wrong path', async () => {
      // The server's own limit for a request would answer 408.
      const { responses, ms } = await exchange(
        app.port,
        [head('POST /nowhere', { 'content-length': '10' }), 'abc'],
        { count: 1 },
      );
      expectError(app, responses[0], { status: 404 });
      expect(ms).to.be.at.least(250);
    });
  });

  describe('parsed', () => {
    const good: [string, Record<string, string>, string, unknown][] = [
      ['JSON', JSON_TYPE, '{"a":[1,{"b":null}]}', { a: [1, { b: null }] }],
      [
        'JSON of a vendor',
        { 'content-type': 'application/vnd.api+json; charset=utf-8' },
        '{"a":1}',
        { a: 1 },
      ],
      ['an empty JSON body as an empty object', JSON_TYPE, '', {}],
      [
        'a form',
        FORM_TYPE,
        'a=1&b=x+y&c[d]=2&e[]=3&e[]=4',
        { a: '1', b: 'x y', c: { d: '2' }, e: ['3', '4'] },
      ],
      ['a form that names the prototype', FORM_TYPE, '__proto__[x]=1&a=2', { a: '2' }],
      ['no text', { 'content-type': 'text/plain' }, 'hello', undefined],
      ['nothing without a type', {}, '{"a":1}', undefined],
      ['multipart', MULTIPART_TYPE, multipart([{ name: 'a', value: '1' }, { name: 'b[c]', value: 'é' }]).toString('latin1'), { a: '1', b: { c: 'é' } }], // prettier-ignore
    ];
    for (const [name, headers, body, parsed] of good) {
      it(name, async () => {
        const { responses } = await exchange(app.port, post('/echo', headers, Buffer.from(body, 'latin1')), {
          count: 1,
        });
        expect(responses[0]?.status).to.equal(200);
        expect((JSON.parse(responses[0]?.body ?? '') as { body?: unknown }).body).to.deep.equal(parsed);
      });
    }

    it('for the profile where no route is', async () => {
      const { responses } = await exchange(app.port, post('/wrong', FORM_TYPE, 'user=ann&age=7'), {
        count: 1,
      });
      expectError(app, responses[0], { status: 404 });
      expect(recordOf(responses[0]).parsed?.body).to.deep.equal({ user: 'ann', age: '7' });
      const upload = multipart([{ name: 'n', value: '1' }, { name: 'f', value: 'data', filename: 'ü.txt' }]); // prettier-ignore
      const second = await exchange(app.port, post('/wrong', MULTIPART_TYPE, upload), { count: 1 });
      expectError(app, second.responses[0], { status: 404 });
      expect(recordOf(second.responses[0]).parsed?.files).to.deep.equal([
        { field: 'f', name: 'ü.txt', contentType: 'application/octet-stream', bytes: 4 },
      ]);
      expect(await noUploadsLeft()).to.equal(true);
    });
  });

  describe('malformed', () => {
    const many = (count: number, part: (index: number) => Part): string =>
      multipart(Array.from({ length: count }, (_value, index) => part(index))).toString('latin1');
    const bad: [string, Record<string, string>, string, number, string?][] = [
      ['JSON', JSON_TYPE, '{"a":', 400, 'Unexpected end of JSON input'],
      ['JSON that is a scalar', JSON_TYPE, '5', 400],
      ['JSON with a NUL', JSON_TYPE, '{"a":"\0"}', 400],
      ['JSON with a byte order mark in the middle', JSON_TYPE, '{\ufeff}', 400],
      ['JSON nested very deep', JSON_TYPE, '['.repeat(100_000), 400, 'The JSON body is nested more than 1000 levels deep.'],
      ['JSON in an unknown encoding', { ...JSON_TYPE, 'content-encoding': 'lzma' }, '{}', 415],
      ['JSON that is not gzip', { ...JSON_TYPE, 'content-encoding': 'gzip' }, '{}', 400, 'incorrect header check'],
      ['a content type of garbage', { 'content-type': 'application/json; =;;"' }, '{}', 200],
      ['a form nested too deep', FORM_TYPE, `a${'[b]'.repeat(40)}=1`, 400, 'The input exceeded the depth'],
      ['a form of too many fields', FORM_TYPE, 'a=1&'.repeat(1200), 413, 'too many parameters'],
      ['a form with bad escapes', FORM_TYPE, 'a=%zz&b=%', 200],
      ['multipart without a boundary', { 'content-type': 'multipart/form-data' }, 'x', 400, 'Multipart: Boundary not found'],
      ['multipart cut short', MULTIPART_TYPE, '--bb\r\nContent-Disposition: form-data; name="a"\r\n\r\nx', 400, 'Unexpected end of form'],
      ['multipart without a body', MULTIPART_TYPE, '', 400],
      ['multipart without a field name', MULTIPART_TYPE, '--bb\r\nContent-Disposition: form-data\r\n\r\nx\r\n--bb--\r\n', 400, 'Field name missing'],
      ['multipart with a broken part header', MULTIPART_TYPE, '--bb\r\nContent Disposition\r\n\r\nx\r\n--bb--\r\n', 400, 'Malformed part header'],
      ['multipart with clashing names', MULTIPART_TYPE, many(3, (index) => ({ name: ['a', 'a[b]', 'a[][c]'][index] ?? '', value: 'x' })), 200],
      ['multipart of 1 000 parts', MULTIPART_TYPE, many(1000, (index) => ({ name: `f${index}`, value: 'x' })), 200],
      ['multipart of 1 001 parts', MULTIPART_TYPE, many(1001, (index) => ({ name: `f${index}`, value: 'x' })), 413, 'An upload is limited to 1000 parts; more than 1000 parts were sent.'],
      ['multipart of 101 files', MULTIPART_TYPE, many(101, (index) => ({ name: `f${index}`, value: 'x', filename: 'x' })), 413, 'An upload is limited to 100 files; more than 100 files were sent.'],
      ['multipart with deep names', MULTIPART_TYPE, many(1, () => ({ name: `a${'[b]'.repeat(50)}`, value: 'x' })), 413],
      ['multipart with a huge index', MULTIPART_TYPE, many(1, () => ({ name: 'a[99999999]', value: 'x' })), 413],
      ['multipart that names the prototype', MULTIPART_TYPE, many(2, (index) => ({ name: index === 0 ? '__proto__[x]' : 'constructor[prototype][y]', value: '1' })), 200],
    ]; // prettier-ignore
    for (const [name, headers, body, status, message] of bad) {
      it(`${name} -> ${status}`, async () => {
        const parts = [...post('/echo', headers, Buffer.from(body, 'latin1')), head('GET /ok')];
        const { responses } = await exchange(app.port, parts, { count: 2 });
        if (status >= 400) expectError(app, responses[0], { status, message });
        else expect(responses[0]?.status).to.equal(status);
        expect(responses[1]?.status, 'the request behind it').to.equal(200);
        expect(({} as Record<string, unknown>).x).to.equal(undefined);
        expect(await noUploadsLeft()).to.equal(true);
      });
    }
  });

  describe('uploads', () => {
    const upload = (bytes: number, more: Part[] = []): Buffer =>
      multipart([...more, { name: 'f', value: Buffer.alloc(bytes, 'u'), filename: 'f.bin' }]);

    it('of exactly the limit pass, in one file or several', async () => {
      const one = await exchange(app.port, post('/files', MULTIPART_TYPE, upload(LIMIT)), { count: 1 });
      expect(JSON.parse(one.responses[0]?.body ?? '')).to.deep.equal({
        body: {},
        files: [['f', 'f.bin', LIMIT]],
      });
      const half = { name: 'g', value: Buffer.alloc(LIMIT / 2), filename: 'g.bin' };
      const two = await exchange(app.port, post('/files', MULTIPART_TYPE, upload(LIMIT / 2, [half])), {
        count: 1,
      });
      expect(two.responses[0]?.status).to.equal(200);
      expect(await noUploadsLeft()).to.equal(true);
    });

    it('of one byte more do not, in one file or several, or with a field', async () => {
      const bodies = [
        upload(LIMIT + 1),
        upload(LIMIT / 2 + 1, [{ name: 'g', value: Buffer.alloc(LIMIT / 2), filename: 'g.bin' }]),
        upload(LIMIT, [{ name: 'g', value: '1' }]),
      ];
      for (const body of bodies) {
        const { responses } = await exchange(app.port, post('/files', MULTIPART_TYPE, body), { count: 1 });
        const { body: page } = expectError(app, responses[0], { status: 413 });
        expect(page).to.match(/An upload is limited to 4 MiB; (more than 4 MiB|4194305 bytes) were sent\./);
      }
      expect(await noUploadsLeft()).to.equal(true);
    });

    it('far over the limit are refused by length, and chunked', async () => {
      const size = LIMIT + 128 * 1024;
      const announced = head('POST /files', { ...MULTIPART_TYPE, 'content-length': String(size) });
      const known = await exchange(app.port, [announced]);
      expectError(app, known.responses[0], {
        status: 413,
        message: `An upload is limited to 4 MiB; ${size} bytes were sent.`,
      });
      const body = upload(size);
      const pieces = await exchange(
        app.port,
        chunked('/files', MULTIPART_TYPE, [body.subarray(0, MIB), body.subarray(MIB)]),
      );
      expectError(app, pieces.responses[0], {
        status: 413,
        message: 'An upload is limited to 4 MiB; more than 4 MiB were sent.',
      });
      expect(pieces.reset).to.equal(false);
      expect(await noUploadsLeft()).to.equal(true);
    });

    it('lie on disk while the request runs, and no longer', async () => {
      const running = exchange(app.port, post('/slow', MULTIPART_TYPE, upload(1000)), { count: 1 });
      expect(await eventually(async () => (await uploadsLeft()).length === 1)).to.equal(true);
      expect((await running).responses[0]?.body).to.equal('done');
      expect(await noUploadsLeft()).to.equal(true);
    });

    it('leave nothing when the client goes half-way', async () => {
      const body = upload(MIB);
      for (let i = 0; i < 10; i++) {
        const socket = connect(app.port, '127.0.0.1');
        socket.on('error', () => undefined);
        socket.write(post('/files', MULTIPART_TYPE, body)[0] ?? '');
        socket.write(body.subarray(0, MIB / 2));
        await eventually(async () => (await uploadsLeft()).length > 0);
        if (i % 2 === 0) socket.destroy();
        else socket.resetAndDestroy();
      }
      expect(await noUploadsLeft()).to.equal(true);
    });

    it('that the disk does not take are answered by 503, and the next request works', async () => {
      await mkdir(join(app.uploadFolder, '..'), { recursive: true });
      await rm(app.uploadFolder, { recursive: true, force: true });
      await writeFile(app.uploadFolder, 'a file where the folder should be');
      const parts = [...post('/files', MULTIPART_TYPE, upload(100_000)), head('GET /ok')];
      const { responses } = await exchange(app.port, parts, { count: 2 });
      expectError(app, responses[0], { status: 503, message: "The upload can't be stored now: EEXIST" });
      expect(responses[1]?.status).to.equal(200);
      await rm(app.uploadFolder);
      const again = await exchange(app.port, post('/files', MULTIPART_TYPE, upload(100)), { count: 1 });
      expect(again.responses[0]?.status).to.equal(200);
    });

    it('never use the name that the client gave', async () => {
      expect(await noUploadsLeft()).to.equal(true);
      const body = multipart([{ name: 'f', value: 'x', filename: '../../../../tmp/evil.txt' }]);
      const running = exchange(app.port, post('/slow', MULTIPART_TYPE, body), { count: 1 });
      await eventually(async () => (await uploadsLeft()).length === 1);
      expect((await uploadsLeft()).join()).to.match(/^upload-\d+-[0-9a-f]{32}$/);
      await running;
    });
  });
});
