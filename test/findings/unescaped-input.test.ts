import { expect } from 'chai';
import express, { type Request } from 'express';
import { withFindingsApp } from '../support/findings-app.ts';

const MARKUP = '<img src=x onerror=alert(1)>';

const textOf = ({ query }: Request): string => (typeof query.q === 'string' ? query.q : '');

describe('finding unescaped-input', () => {
  const ask = withFindingsApp((app) => {
    app.get('/raw', (req, res) => res.send(`<p>Nothing for ${textOf(req)}</p>`));
    app.get('/escaped', (req, res) => res.send(`<p>Nothing for ${textOf(req).replaceAll('<', '&lt;')}</p>`));
    app.post('/preview', express.urlencoded({ extended: false }), (req, res) => {
      res.send(`<article>${(req.body as { text: string }).text}</article>`);
    });
    let stored = '';
    app.post('/reviews', express.json(), (req, res) => {
      stored = (req.body as { body: string }).body;
      res.status(201).end();
    });
    app.get('/reviews', (_req, res) => res.send(`<p>${stored}</p>`));
    app.get('/reviews/escaped', (_req, res) => res.send(`<p>${stored.replaceAll('<', '&lt;')}</p>`));
    app.get('/json', (req, res) => res.json({ q: req.query.q }));
    app.get('/help/:topic', (req, res) => res.send(`<h1>${req.params.topic}</h1>`));
  });

  it('names the input, and does not quote it', async () => {
    const [query] = (await ask(`/raw?q=${encodeURIComponent(MARKUP)}`)).of('unescaped-input');
    expect(query).to.include({
      label: 'unescaped input',
      severity: 'bad',
      sentence:
        'The HTML of the response contains the query’s q as it was sent, not escaped: its markup runs in the page',
    });
    expect(query?.place).to.match(/unescaped-input\.test\.ts:\d+$/);
    const [parameter] = (await ask(`/help/${encodeURIComponent(MARKUP)}`)).of('unescaped-input');
    expect(parameter?.sentence).to.contain('contains the parameter topic as');
  });

  it('ignores what an editor sends, unless it can run', async () => {
    const found = async (text: string) => {
      const body = new URLSearchParams({ text });
      return (await ask('/preview', { method: 'POST', body })).of('unescaped-input').length;
    };
    expect(await found('<p>Hello <b>you</b></p>')).to.equal(0);
    expect(await found(MARKUP)).to.equal(1);
  });

  it('names what an earlier request brought', async () => {
    const review = async (body: string) => {
      const headers = { 'content-type': 'application/json' };
      return (await ask('/reviews', { method: 'POST', headers, body: JSON.stringify({ body }) })).profile
        .token;
    };
    const token = await review(MARKUP);
    expect((await ask('/reviews')).of('unescaped-input').map(({ sentence }) => sentence)).to.deep.equal([
      `The HTML of the response contains the body that POST /reviews received (${token}) as it was sent, not escaped: its markup runs in the page`,
    ]);
    expect((await ask('/reviews/escaped')).of('unescaped-input')).to.deep.equal([]);
    await review('<p>Fine <b>shoes</b></p>');
    expect((await ask('/reviews')).of('unescaped-input')).to.deep.equal([]);
  });

  it('ignores escaped input, other types, and input without markup', async () => {
    const query = `?q=${encodeURIComponent(MARKUP)}`;
    for (const path of [`/escaped${query}`, `/json${query}`, '/raw?q=tables'])
      expect((await ask(path)).of('unescaped-input'), path).to.deep.equal([]);
  });
});
