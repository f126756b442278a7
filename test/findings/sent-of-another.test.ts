/** Two callers at the same time, of an application that keeps the caller in a field that all requests share. */
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { urls } from '../../app/urls.ts';
import { type Asked, withFindingsApp } from '../support/findings-app.ts';

const DAIRIES: Record<string, { name: string; currency: string }> = {
  'k-alp-77': { name: 'Hochalp', currency: 'CHF' },
  'k-tal-12': { name: 'Talgrund', currency: 'EUR' },
};

describe('texts of a response that are of another request', () => {
  let shared = DAIRIES['k-alp-77'];
  const ask = withFindingsApp((app) => {
    app.use((req, res, next) => {
      res.locals.dairy = shared = DAIRIES[req.get('x-dairy-key') ?? ''];
      next();
    });
    app.get('/worth/:kind/:month', async (req, res) => {
      await pause(120);
      const dairy = req.params.kind === 'shared' ? shared : (res.locals.dairy as typeof shared);
      res.json({ dairy: dairy?.name, currency: dairy?.currency, month: req.params.month });
    });
    app.get('/count', (_req, res) => res.json({ dairy: shared?.name, wheels: 375 }));
  });

  const as = (key: string, path: string): Promise<Asked> => ask(path, { headers: { 'x-dairy-key': key } });

  async function together(kind: string, key = 'k-tal-12'): Promise<Asked> {
    const slow = as('k-alp-77', `/worth/${kind}/november`);
    await pause(40);
    await as(key, '/count');
    return slow;
  }

  it('are named with the request that began meanwhile', async () => {
    await as('k-alp-77', '/worth/shared/october');
    await as('k-tal-12', '/worth/shared/october');
    const { of } = await together('shared');
    const [finding] = of('value-of-another-request');
    expect(finding).to.include({ severity: 'bad', broke: 'response', panel: 'request' });
    expect(finding?.sentence).to.match(
      /^dairy and currency of the response are those of another caller, whose request began \S+ ms after this one \(GET \/count \(\w+\)\), and not those of 1 earlier request of this one \(dairy was Hochalp, is Talgrund\): something that both requests share held them$/,
    );
  });

  it('are none where each request keeps its own; the other one is named without a finding', async () => {
    await as('k-tal-12', '/worth/own/october');
    await as('k-alp-77', '/worth/own/october');
    const { findings, profile } = await together('own');
    expect(findings).to.deep.equal([]);
    const page = await ask.page(urls.profileMarkdown(profile.token));
    expect(page).to.match(/## Ran at the same time[^#]*`GET \/count`[^#]*200, began \S+ ms after/);
  });

  it('are none of the same caller', async () => {
    const { of } = await together('shared', 'k-alp-77');
    expect(of('value-of-another-request')).to.deep.equal([]);
  });
});
