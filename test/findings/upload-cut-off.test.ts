import { expect } from 'chai';
import { withLeavingClient } from '../support/leaving-client.ts';

const head = 'POST /upload HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\n';

describe('finding upload-cut-off', () => {
  const leave = withLeavingClient((app) => {
    app.post('/upload', (req) => {
      // The client leaves first.
      req.resume();
    });
  });

  it('says how much had arrived', async () => {
    const { of } = await leave(`${head}Content-Length: 4096\r\n\r\n${'x'.repeat(1024)}`);
    const [finding] = of('upload-cut-off');
    expect(finding).to.include({
      label: 'incomplete upload',
      severity: 'warn',
      sentence: 'The upload ended after 1.0 KiB of 4.0 KiB (25 %)',
    });
  });

  it('reports nothing if the whole body had arrived and the client left later', async () => {
    const { of } = await leave(`${head}Content-Length: 1024\r\n\r\n${'x'.repeat(1024)}`);
    expect(of('upload-cut-off')).to.deep.equal([]);
    expect(of('client-left')).to.have.length(1);
  });
});
