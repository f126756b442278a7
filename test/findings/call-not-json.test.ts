import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';
import { withUpstream } from '../support/upstream.ts';

describe('finding call-not-json', () => {
  const upstream = withUpstream((req, res) => {
    res.setHeader('content-type', 'text/html');
    res.end(req.url === '/json' ? '{}' : '<html>Maintenance</html>');
  });
  const ask = withFindingsApp((app) => {
    app.get('/call/:path', async (req, res) => {
      res.json(await (await fetch(`${upstream()}/${req.params.path}`)).json());
    });
    app.get('/own', async (_req, res) => {
      res.json(JSON.parse('<own>'));
    });
  });

  it('names the call and its type', async () => {
    const asked = await ask.when('/call/page', ({ of }) => of('call-not-json').length > 0);
    const [finding] = asked.of('call-not-json');
    expect(finding).to.include({ label: 'call not JSON', severity: 'bad', panel: 'http_client' });
    expect(finding?.sentence).to.match(
      /^The response of GET 127\.0\.0\.1:\d+\/page, 200 \(text\/html\), is probably the text that could not be parsed as JSON$/,
    );
    expect(finding?.place).to.match(/call-not-json\.test\.ts:\d+$/);
  });

  it('ignores JSON, and errors without a call', async () => {
    for (const path of ['/call/json', '/own']) expect((await ask(path)).of('call-not-json'), path).to.deep.equal([]); // prettier-ignore
  });
});
