import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';
import { draftsOf } from '../support/find-by-rule.ts';

const ORIGIN = 'https://app.example';

/** `fetch` does not let a test name these headers. */
function found(
  head: { method?: string; status?: number },
  received: Record<string, string>,
  sent: Record<string, string> = {},
) {
  const rows = (headers: Record<string, string>) =>
    Object.entries(headers).map(([name, value]) => ({ name, value }));
  const request = { headers: rows({ host: 'api.example', ...received }), response: { headers: rows(sent) } };
  const kept = { request, routing: { layers: [] } };
  return draftsOf('cors-refused', kept, { method: 'GET', status: 200, ...head }).map(({ sentence }) =>
    sentence.replace(/^.*, because /, ''),
  );
}

const allow = (name: string): string => `access-control-allow-${name}`;

describe('finding cors-refused', () => {
  const ask = withFindingsApp((app) => {
    app.use('/closed', function requireToken(_req, res) {
      res.status(401).json({ error: 'no token' });
    });
    app.use('/any', function allowAny(_req, res) {
      res.set({ [allow('origin')]: '*', [allow('methods')]: 'PUT', [allow('credentials')]: 'true' });
      res.sendStatus(204);
    });
    app.use('/open', (_req, res) => {
      res.set({ [allow('origin')]: ORIGIN, [allow('methods')]: 'PUT' }).sendStatus(204);
    });
  });
  const preflight = {
    method: 'OPTIONS',
    headers: { origin: ORIGIN, 'access-control-request-method': 'PUT' },
  };

  it('says of a preflight for any origin, with credentials, what it would refuse', async () => {
    const [finding] = (await ask('/any', preflight)).of('cors-refused');
    expect(finding).to.include({
      severity: 'info',
      sentence:
        'Browsers refuse what allowAny responded to the preflight of PUT if the page sends cookies, because Access-Control-Allow-Origin is *',
    });
  });

  it('names the middleware that responded to a preflight', async () => {
    const [finding] = (await ask('/closed', preflight)).of('cors-refused');
    expect(finding).to.include({
      label: 'CORS refused',
      broke: 'response',
      sentence:
        'Browsers refuse what requireToken responded to the preflight of PUT, because the status is 401 instead of a 2xx, without Access-Control-Allow-Origin',
    });
    expect(finding?.place).to.match(/cors-refused\.test\.ts:\d+$/);
    expect((await ask('/open', preflight)).of('cors-refused')).to.deep.equal([]);
  });

  it('says which header is missing or wrong', () => {
    const wildcard = { [allow('origin')]: '*', [allow('credentials')]: 'true' };
    expect(found({}, { origin: ORIGIN, cookie: 'sid=1' }, wildcard)).to.deep.equal([
      'Access-Control-Allow-Origin is *, which is not valid with credentials',
    ]);
    expect(found({}, { origin: ORIGIN }, { [allow('origin')]: `${ORIGIN}/` })).to.deep.equal([
      'Access-Control-Allow-Origin is https://app.example/, and the page is of https://app.example, without the slash at its end',
    ]);
    expect(found({}, { origin: ORIGIN, 'sec-fetch-mode': 'cors' })).to.deep.equal([
      'Access-Control-Allow-Origin was not sent',
    ]);
    expect(found({}, { origin: ORIGIN, 'sec-fetch-mode': 'cors' }, { vary: 'Origin' })).to.deep.equal([
      'Access-Control-Allow-Origin was not sent, though Vary: Origin was: https://app.example equals none of the allowed origins, letter by letter',
    ]);
    expect(found({}, { origin: ORIGIN }, { [allow('origin')]: 'https://App.example' })).to.deep.equal([
      'Access-Control-Allow-Origin is https://App.example, and the page is of https://app.example, in lower case',
    ]);
    const asks = {
      origin: ORIGIN,
      'access-control-request-method': 'PUT',
      'access-control-request-headers': 'authorization',
    };
    const methods = { [allow('origin')]: ORIGIN, [allow('methods')]: 'GET,PUT' };
    expect(found({ method: 'OPTIONS', status: 204 }, asks, methods)).to.deep.equal([
      'Access-Control-Allow-Headers does not have authorization',
    ]);
    expect(found({ method: 'OPTIONS', status: 204 }, asks, { [allow('origin')]: ORIGIN })).to.deep.equal([
      'Access-Control-Allow-Methods does not have PUT',
    ]);
  });

  it('ignores what browsers accept, and what is of the same origin', () => {
    expect(found({}, {})).to.deep.equal([]);
    expect(found({}, { origin: 'https://api.example', 'sec-fetch-mode': 'cors' })).to.deep.equal([]);
    expect(
      found(
        {},
        { origin: ORIGIN, 'sec-fetch-site': 'same-origin' },
        { [allow('origin')]: 'https://b.example' },
      ),
    ).to.deep.equal([]);
    expect(found({}, { origin: ORIGIN })).to.deep.equal([]);
    expect(found({}, { origin: ORIGIN }, { [allow('origin')]: '*' })).to.deep.equal([]);
    expect(
      found({}, { origin: ORIGIN }, { [allow('origin')]: '*', [allow('credentials')]: 'true' }),
    ).to.deep.equal([]);
    expect(found({}, { origin: ORIGIN }, { [allow('origin')]: ORIGIN })).to.deep.equal([]);
  });
});
