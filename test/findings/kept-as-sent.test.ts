import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';
import { withUpstream } from '../support/upstream.ts';

describe('findings about the form of a response', () => {
  const bytes = Buffer.from([0x25, 0x50, 0x44, 0x46, 0xe2, 0xe3, 0xcf, 0xd3, 0xff, 0xfe]);
  const upstream = withUpstream((_req, res) => {
    res.setHeader('content-type', 'application/pdf').setHeader('content-length', bytes.length).end(bytes);
  });
  const ask = withFindingsApp((app) => {
    app.get('/label/:how', async (req, res) => {
      const got = await fetch(`${upstream()}/label.pdf`);
      res.type('application/pdf');
      res.send(req.params.how === 'text' ? await got.text() : Buffer.from(await got.arrayBuffer()));
    });
  });

  it('name bytes that were read as text', async () => {
    const [finding] = (await ask('/label/text')).of('bytes-as-text');
    expect(finding?.sentence).to.match(
      / got 10 bytes of application\/pdf, and this response has \d\d, with charset=utf-8/,
    );
    expect(finding).to.include({ panel: 'http_client', anchor: 'c1' });
    expect((await ask('/label/bytes')).of('bytes-as-text')).to.deep.equal([]);
  });
});
