import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { withFindingsApp } from '../support/findings-app.ts';

describe('finding etag-changes', () => {
  let price = 10;
  const ask = withFindingsApp((app) => {
    app.get('/timed', (_req, res) => res.json({ list: [1, 2, 3], id: randomUUID() }));
    app.get('/price', (_req, res) => res.json({ name: 'table', price: price++ }));
    app.get('/same', (_req, res) => res.json({ list: [1, 2, 3] }));
  });

  async function again(path: string) {
    const { headers } = await fetch(`${ask.origin()}${path}`);
    return ask(path, {
      headers: { 'if-none-match': headers.get('etag') ?? '', 'cache-control': 'max-age=0' },
    });
  }

  it('says that only a random value changed', async () => {
    const { status, of } = await again('/timed');
    expect(status).to.equal(200);
    const [finding] = of('etag-changes');
    expect(finding).to.include({ label: 'ETag changes', panel: 'request' });
    expect(finding?.sentence).to.match(
      /^The ETag changed since this client’s last request because of 36 characters of \d+ \(from \d+ on\) that look like a time or a random value: 304 is never sent$/,
    );
    expect(finding?.place).to.match(/etag-changes\.test\.ts:\d+$/);
  });

  it('ignores another content, and a client that has it already', async () => {
    expect((await again('/price')).of('etag-changes')).to.deep.equal([]);
    const { status, of } = await again('/same');
    expect(status).to.equal(304);
    expect(of('etag-changes')).to.deep.equal([]);
  });
});
