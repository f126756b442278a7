import { expect } from 'chai';
import { keptRequest } from '../support/kept-queries.ts';
import { withFindingsApp } from '../support/findings-app.ts';
import { draftsOf } from '../support/find-by-rule.ts';

describe('findings from the kind of a resource', () => {
  const ask = withFindingsApp((app) => {
    app.get('/missing', (_req, res) => {
      res.status(404).set('Cache-Control', 'public, max-age=31536000').send('no');
    });
    app.get('/page', (_req, res) => {
      res.set('Cache-Control', 'public, max-age=31536000, immutable').send('<!doctype html><p>Hello</p>');
    });
    app.get('/private', (_req, res) => {
      res.redirect(301, '/login?next=/private');
    });
    app.get('/assets/:file', (_req, res) => {
      res
        .set('Cache-Control', 'public, max-age=0')
        .type('js')
        .send(`// ${'x'.repeat(20_000)}`);
    });
    app.get('/json', (_req, res) => {
      res.send(JSON.stringify({ name: 'Ann' }));
    });
    app.get('/text', (_req, res) => {
      res.send('{curly} but no JSON');
    });
    app.get('/plain', (_req, res) => {
      res.type('text').send('<!doctype html><p>Hello</p>');
    });
    app.get('/list', (req, res) => {
      res.json(Object.keys(req.query));
    });
    app.get('/limited', (_req, res) => {
      res.status(429).json({});
    });
  });
  const said = async (path: string, headers: Record<string, string> = {}) =>
    (await ask(path, { headers })).findings.map(({ sentence }) => sentence);

  it('name a lifetime that is wrong for it', async () => {
    expect(await said('/missing')).to.deep.equal([
      'The 404 has a lifetime of 31,536,000 seconds: it is shown until then, also once the cause is gone',
    ]);
    expect(await said('/page')).to.deep.equal([
      'Browsers keep this page for 31,536,000 seconds without asking again: until then they don’t show a new version',
    ]);
    expect(await said('/private')).to.deep.equal([
      'The redirect to the log-in is permanent (301): browsers keep it, and go there without asking again after the log-in',
    ]);
    expect(await said('/assets/app.3f2a1b9c.js')).to.deep.equal([
      'The file has a hash in its name, but browsers ask for it again each time (19.5 KiB)',
    ]);
    expect(await said('/assets/jquery-datatable.js')).to.deep.equal([]);
  });

  it('name a type that is another one than that of the body', async () => {
    expect(await said('/json')).to.deep.equal(['The body is JSON, but it was sent as text/html']);
    expect(await said('/plain')).to.deep.equal(['The body is an HTML page, but it was sent as text/plain']);
    expect(await said('/text')).to.deep.equal([]);
  });

  it('name brackets that stay flat, and clients that count as one', async () => {
    expect(await said('/list?filter[status]=open')).to.deep.equal([
      'The query has filter[status], which this application’s query parser (simple) leaves flat: req.query.filter is undefined',
    ]);
    expect(await said('/list?ids[]=1&ids[]=2')).to.deep.equal([]);
    const blamed =
      'The proxy in front is not trusted, so req.ip is its address for all clients behind it: if the limit counts by req.ip, it counts them as one';
    const from = (address: string) => said('/limited', { 'x-forwarded-for': address });
    expect(await from('203.0.113.9')).to.deep.equal([blamed]);
    expect(await from('203.0.113.9'), 'the same client again').to.deep.equal([]);
    expect(await from('203.0.113.10')).to.deep.equal([blamed]);
    expect(await said('/limited')).to.deep.equal([]);
  });

  it('name the key that counts the clients as one', () => {
    const headers = [{ name: 'X-Forwarded-For', value: '203.0.113.9' }];
    const found = (key: string) => {
      const request = { ...keptRequest(), headers, client: { peer: '10.0.0.7', trusted: false } };
      const items = [{ command: 'GET', key, caller: 'src/attempts.ts:9' }];
      const beside = { earlier: [] } as never;
      const [finding] = draftsOf('one-client', { request, cache: { items } }, { status: 429 }, beside);
      return finding;
    };
    expect(found('attempts:10.0.0.7')).to.include({
      severity: 'bad',
      sentence:
        'The proxy in front is not trusted, so req.ip is its address for all clients behind it: the key attempts:10.0.0.7 counts them as one',
      place: 'src/attempts.ts:9',
    });
    expect(found('attempts:203.0.113.9')?.severity).to.equal('warn');
  });
});
