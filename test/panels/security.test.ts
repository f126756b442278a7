import { expect } from 'chai';
import { load } from 'cheerio';
import { createRequestPanel } from '../../app/panels/request/index.ts';
import type { LayerFact } from '../../app/observe/layer-fact.ts';
import { createRoutingPanel } from '../../app/panels/routing/index.ts';
import type { SecurityData } from '../../app/panels/security/data.ts';
import { securityPanel } from '../../app/panels/security/index.ts';
import { checksOf } from '../../app/panels/security/present.ts';
import { parsePolicy } from '../../app/panels/security/policy.ts';
import { parseSetCookie } from '../../app/panels/security/set-cookie.ts';
import type { Panel } from '../../app/profiler/panel.ts';
import { createPageFixture, type Recorded, requestFact } from '../support/page-fixture.ts';
import { panelHtml } from '../support/panel-data.ts';

const panel = securityPanel as Panel;

async function record(given: Recorded): Promise<{
  data: SecurityData;
  checks: ReturnType<typeof checksOf>;
  html: string;
}> {
  const fixture = createPageFixture([createRequestPanel(), createRoutingPanel(), panel]);
  const profile = await fixture.profileOf(given);
  const data = profile.panels.security?.data as SecurityData;
  return {
    data,
    checks: data === null ? [] : checksOf(data),
    html: panelHtml(fixture.services.renderPage, panel, { profile }),
  };
}

describe('panel security', () => {
  it('says which headers a page misses, and asks less of what is no page', async () => {
    const page = await record({ responseHeaders: ['Content-Type', 'text/html'] });
    const missing = page.checks.filter(({ state }) => state === 'missing').map(({ header }) => header);
    expect(missing).to.deep.equal([
      'Content-Security-Policy',
      'Strict-Transport-Security',
      'X-Content-Type-Options',
      'X-Frame-Options',
      'Referrer-Policy',
    ]);
    const json = await record({ responseHeaders: ['Content-Type', 'application/json'] });
    expect(json.data.missing).to.equal(2);
    expect(load(page.html)('#headers .badge.warn')).to.have.length(5);
  });

  it('takes frame-ancestors for X-Frame-Options', async () => {
    const { checks } = await record({
      responseHeaders: ['Content-Type', 'text/html', 'Content-Security-Policy', "frame-ancestors 'none'"],
    });
    expect(checks.find(({ header }) => header === 'X-Frame-Options')?.state).to.equal('not needed');
  });

  it('says what is wrong with a value that was sent', async () => {
    const { checks } = await record({
      responseHeaders: [
        'X-Frame-Options',
        'ALLOWALL',
        'Strict-Transport-Security',
        'includeSubDomains',
        'X-Content-Type-Options',
        'sniff',
      ],
    });
    const notes = Object.fromEntries(checks.map(({ header, note }) => [header, note]));
    expect(notes['X-Frame-Options']).to.contain('DENY and SAMEORIGIN');
    expect(notes['Strict-Transport-Security']).to.contain('no max-age');
    expect(notes['X-Content-Type-Options']).to.contain('nosniff');
  });

  it('keeps flags of cookies and never a value', async () => {
    const { data, html } = await record({
      responseHeaders: ['Set-Cookie', 'sid=s3cret-value; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=60'],
    });
    expect(data.jar).to.deep.equal([
      {
        name: 'sid',
        secure: true,
        httpOnly: true,
        sameSite: 'Lax',
        path: '/',
        domain: null,
        lifetime: '60 s',
        problems: [],
        dropped: null,
      },
    ]);
    expect(JSON.stringify(data) + html).to.not.contain('s3cret');
  });

  it('says which cookies browsers do not keep', async () => {
    const { html } = await record({
      responseHeaders: ['Set-Cookie', 'a=1; SameSite=None', 'Set-Cookie', 'b=1; Secure; SameSite=None'],
    });
    const $ = load(html);
    expect($('#c-1').text()).to.contain('SameSite=None needs Secure');
    expect($('#c-2').text()).to.not.contain('rejected');
  });

  it('says who set each header, and what is of no effect', async () => {
    const layer: LayerFact = {
      name: 'policies', kind: 'middleware', pattern: '/', method: null, source: 'src/app.ts:9', startMs: 1,
      durationMs: 1, settledMs: null, nextMs: 1, outcome: 'next', error: false, depth: 0,
    }; // prettier-ignore
    const { checks, html } = await record({
      responseHeaders: ['X-Powered-By', 'Express', 'Access-Control-Allow-Origin', 'https://a.example'],
      response: {
        headerWrites: [
          { name: 'Access-Control-Allow-Origin', value: 'https://a.example', layer, hooked: false },
        ],
      },
      more: (context) => context.add('layer', layer),
    });
    const of = (header: string) => checks.find((check) => check.header === header);
    expect(of('Access-Control-Allow-Origin')).to.include({ isProblem: true });
    expect(of('X-Powered-By')).to.include({ isProblem: true });
    expect(of('Permissions-Policy')).to.include({ isProblem: false });
    const rowOf = (header: string): string => load(html)(`#headers tr:contains("${header}")`).text();
    expect(rowOf('Access-Control-Allow-Origin')).to.contain('policies').and.to.contain('src/app.ts:9');
    expect(rowOf('X-Powered-By')).to.contain('Express');
    expect(load(html)('#headers').text()).to.contain('a cache may give it to another');
  });

  it('has an empty state where no response was sent', async () => {
    const { html } = await record({ response: { headersAtMs: null, rawHeaders: [] } });
    expect(load(html)('.empty').text()).to.contain('No response was sent.');
  });

  it('survives a request that was never read', async () => {
    const fixture = createPageFixture([createRequestPanel(), panel]);
    const context = fixture.recorder.open('request');
    expect(fixture.recorder.snapshot(context).panels.security?.data).to.equal(null);
    expect(requestFact({}).method).to.equal('GET');
  });
});

describe('content security policy', () => {
  it('is split into directives, with what weakens them', () => {
    const { directives } = parsePolicy(
      "default-src 'self'; script-src 'self' 'unsafe-inline' *;; SCRIPT-SRC none; img-src data:",
      true,
    );
    expect(directives.map(({ name, note }) => [name, note])).to.deep.equal([
      ['default-src', null],
      ['script-src', 'inline scripts may run'],
      ['script-src', 'repeated: browsers ignore this one'],
      ['img-src', null],
    ]);
  });

  it('is told what it leaves open, what is obsolete and what is ignored', () => {
    const { directives, open } = parsePolicy("object-src 'none' x; plugin-types a/b; base-uri *", true);
    expect(directives.map(({ note }) => note)).to.deep.equal([
      "'none' is ignored beside other values",
      'obsolete: browsers ignore it',
      'allows any site',
    ]);
    expect(open.join(' ')).to.contain('any script may run').and.to.not.contain('object-src');
    expect(
      parsePolicy("default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'", true)
        .open,
    ).to.deep.equal([]);
    expect(parsePolicy("script-src 'strict-dynamic'", true).directives[0]?.note).to.contain('no script runs');
  });

  it("knows that a nonce takes 'unsafe-inline' back", () => {
    const { directives } = parsePolicy("script-src 'nonce-abc' 'unsafe-inline'", true);
    expect(directives[0]?.note).to.contain('is ignored');
  });
});

describe('Set-Cookie', () => {
  const web = { https: true, local: false };

  it('is read with attributes in any case and order', () => {
    const flags = parseSetCookie(' a = b ; SECURE;httponly; samesite=Strict;Domain=.x.y', web);
    expect(flags).to.include({
      name: 'a',
      secure: true,
      httpOnly: true,
      sameSite: 'Strict',
      domain: '.x.y',
      dropped: null,
    });
  });

  it('knows prefixes, plain http and local hosts', () => {
    expect(parseSetCookie('__Host-a=1; Secure', web).dropped).to.contain('__Host-');
    expect(parseSetCookie('__Secure-a=1', web).dropped).to.contain('prefix');
    expect(parseSetCookie('a=1; Secure', { https: false, local: false }).dropped).to.contain('over http');
    expect(parseSetCookie('a=1; Secure', { https: false, local: true }).dropped).to.equal(null);
    expect(parseSetCookie(`a=${'x'.repeat(5000)}`, web).dropped).to.contain('4096');
  });
});
