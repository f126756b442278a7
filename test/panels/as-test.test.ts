/** "As test" of the request panel: what is copied is run by mocha, with the fault and without. */
import { execFile } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { load } from 'cheerio';
import request from 'supertest';
import express from 'express';
import { hindsight, type Profiler } from '../../app/index.ts';
import { toTest } from '../../app/panels/request/as-test.ts';
import type { RequestPanelData } from '../../app/panels/request/data.ts';
import type { Finding } from '../../app/profiler/read/finding.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { withBuild } from '../support/build.ts';
import { freshFolder } from '../support/fresh-folder.ts';
import { query } from '../support/observed-samples.ts';
import { until } from '../support/waiting.ts';

const root = path.resolve(import.meta.dirname, '../..');

const plain = {
  method: 'GET',
  url: '/orders',
  headers: [],
  body: null,
} as unknown as RequestPanelData;

function profileWith(more: Partial<Profile>): Profile {
  return { kind: 'request', status: 200, findings: [], panels: {}, ...more } as Profile;
}

function finding(rule: string, label = rule): Finding {
  return { rule, label, severity: 'warn', sentence: 's', panel: 'database' };
}

function expectations(more: Partial<Profile>): string[] {
  return toTest(plain, profileWith(more)).filter((line) => /^ {2}expect/.test(line));
}

/** The calls and arguments of the request that the test sends; nothing else of the text may run. */
function sentBy(lines: readonly string[]): unknown[][] {
  const calls: unknown[][] = [];
  const chain: object = new Proxy(
    {},
    {
      get: (_target, name) =>
        name === 'then'
          ? undefined
          : (...args: unknown[]) => {
              calls.push([String(name), ...args.map((arg) => (Buffer.isBuffer(arg) ? String(arg) : arg))]);
              return chain;
            },
    },
  );
  const text = lines.filter((line) => !line.startsWith('import ')).join('\n');
  runInNewContext(text, {
    Buffer,
    app: null,
    hindsightChai: null,
    chai: { use: () => undefined, expect: () => null },
    request: () => chain,
    it: (title: string, body: () => Promise<void>) => {
      calls.push(['it', title]);
      body().catch(() => undefined);
    },
  });
  return calls;
}

describe('panel request: as test', () => {
  it('asserts what belongs to the fault, and makes no test without one', () => {
    expect(toTest(plain, profileWith({}))).to.deep.equal([]);
    expect(expectations({ status: 503 })).to.deep.equal(['  expect(response.status).to.be.below(500);']);
    expect(expectations({ findings: [finding('n-plus-one', 'N+1')] })).to.deep.equal([
      '  expect(response).to.have.noNPlusOne();',
    ]);
    const panels = { database: { data: null, error: null, summary: { text: '', tone: 'warn', count: 121 } } } as const; // prettier-ignore
    expect(expectations({ panels, findings: [finding('many-queries')] })).to.deep.equal([
      '  expect(response).to.have.queriesBelow(41);',
    ]);
    expect(
      expectations({ findings: [finding('slow-call'), finding('slow-view'), finding('slow-call')] }),
    ).to.deep.equal(['  expect(response).to.have.noFindings({ except: ["slow-view"] });']);
  });

  it('keeps recorded text inside string literals', () => {
    const hostile = `</script>'"\`\${x}\\\n\r\u2028\u2029*/ // •`;
    const data = {
      ...plain,
      method: 'M-SEARCH',
      url: `/${hostile}`,
      headers: [{ name: 'Cookie', value: hostile }],
      body: { contentType: hostile, text: hostile, truncated: false, files: [], fields: null },
    } as unknown as RequestPanelData;
    const worst = { ...finding(hostile), place: hostile };
    const lines = toTest(data, profileWith({ findings: [worst, finding(`${hostile}2`)] }));
    expect(lines.join('\n')).to.not.match(/[\u2028\u2029\r]|<\//);
    expect(lines.every((line) => !line.includes('\n'))).to.equal(true);
    expect(sentBy(lines)).to.deep.equal([
      ['it', `M-SEARCH /${hostile}`],
      ['m-search', `/${hostile}`],
      ['set', 'content-type', hostile],
      ['send', hostile],
    ]);
  });

  it('sends forms by their parts, and says what is missing', () => {
    const body = {
      contentType: 'multipart/form-data; boundary=x',
      text: null,
      truncated: false,
      fields: [
        { name: 'tags', value: ['a', 'b'] },
        { name: 'password', value: '[masked 1, string]' },
      ],
      files: [{ field: 'f', name: 'a".png', contentType: 'image/png', bytes: 2 }],
    };
    const lines = toTest(
      { ...plain, method: 'POST', body } as unknown as RequestPanelData,
      profileWith({ status: 500 }),
    );
    expect(sentBy(lines).slice(2)).to.deep.equal([
      ['field', 'tags', 'a'],
      ['field', 'tags', 'b'],
      ['field', 'password', 'MASKED'],
      ['attach', 'f', '\0\0', { filename: 'a".png', contentType: 'image/png' }],
    ]);
    expect(lines.filter((line) => /^ {2}\/\//.test(line))).to.have.lengthOf(2);
    const cut = { ...body, contentType: 'text/plain', text: 'beg', truncated: true, files: [] };
    expect(
      toTest({ ...plain, body: cut } as unknown as RequestPanelData, profileWith({ status: 500 })).join('\n'),
    ).to.contain('truncated: fill it in');
    const untyped = { ...cut, contentType: null, truncated: false };
    expect(
      sentBy(
        toTest({ ...plain, body: untyped } as unknown as RequestPanelData, profileWith({ status: 500 })),
      ).at(-1),
    ).to.deep.equal(['send', 'beg']);
  });

  describe('run by mocha', () => {
    withBuild();
    let folder: string;
    let profiler: Profiler;
    const app = express();

    before(async () => {
      folder = freshFolder();
      await symlink(path.join(root, 'node_modules'), path.join(folder, 'node_modules'), 'dir');
      profiler = hindsight(app, {
        observe: false,
        warn: () => undefined,
        onRequest: [
          (context) => {
            for (let id = 1; id <= 5; id++)
              context.add('query', query({ sql: 'select 1 where id = $1', bindings: [id], startMs: id, caller: 'src/orders.ts:41' })); // prettier-ignore
          },
        ],
      });
      app.post('/orders', express.json(), (_request, response) => response.json([]));
    });
    after(() => profiler.close());

    /** The application of the test: the queries of the loop only with FAULT=1, and only for the request that was recorded. */
    const host = `
      import express from 'express';
      import hindsight from ${JSON.stringify(path.join(root, 'dist/app/index.js'))};
      export const app = express();
      hindsight(app, { observe: false, warn: () => undefined, onRequest: [(context) => {
        for (let id = 1; process.env.FAULT === '1' && id <= 5; id++) context.add('query', {
          ...${JSON.stringify(query({ sql: 'select 1 where id = $1' }))}, bindings: [id], startMs: id, caller: 'src/orders.ts:41' });
      }] });
      app.post('/orders', express.json(), (request, response) => {
        console.log('received', request.url, JSON.stringify(request.body), request.headers.cookie);
        response.json([]);
      });
    `;

    function run(fault: '0' | '1'): Promise<{ code: unknown; output: string }> {
      const mocha = path.join(root, 'node_modules/mocha/bin/mocha.js');
      const args = [mocha, '--no-config', '--exit', path.join(folder, 'copied.test.mjs')];
      return new Promise((done) => {
        execFile(
          process.execPath,
          args,
          { cwd: root, env: { ...process.env, FAULT: fault } },
          (error, out, err) => {
            done({ code: error?.code ?? 0, output: out + err });
          },
        );
      });
    }

    it('fails while the fault is there, and passes without it', async () => {
      const response = await request(app)
        .post('/orders?page=2')
        .set('cookie', 'sid=c0ffee')
        .set('content-type', 'application/json')
        .send('{"qty":3,"password":"correct horse"}')
        .expect(200);
      const token = String(response.get('x-debug-token'));
      await until(
        async () => (await profiler.profiles.read(token))?.source === 'stored',
        'the profile is stored',
      );
      const page = await request(app).get(`/_profiler/${token}?panel=request`).expect(200);
      const $ = load(page.text);
      expect($('button.copy[data-copy="test-1"]')).to.have.lengthOf(1);
      const copied = $('#test-1').text();
      expect(copied).to.contain('noNPlusOne').and.not.contain('c0ffee');
      const testing = path.join(root, 'dist/app/testing.js');
      await writeFile(path.join(folder, 'app.js'), host);
      await writeFile(path.join(folder, 'package.json'), '{"type":"module"}');
      await writeFile(
        path.join(folder, 'copied.test.mjs'),
        copied.replace('express-hindsight/testing', testing),
      );
      const failed = await run('1');
      expect(failed.output)
        .to.contain('received /orders?page=2 {"qty":3,"password":"MASKED"} undefined')
        .and.contain('POST /orders?page=2 has 1 N+1; expected none.');
      expect(failed.code).to.equal(1);
      const passed = await run('0');
      expect(passed.output).to.contain('1 passing');
      expect(passed.code).to.equal(0);
    });
  });
});
