import { execFileSync } from 'node:child_process';
import { expect } from 'chai';
import { createHttpClientPanel, type HttpClientData } from '../../app/panels/http-client.ts';
import { Context } from '../../app/profiler/context.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { createRedactor } from '../../app/profiler/redact.ts';
import { addBusyPage, call, lasting } from '../support/observed-samples.ts';

const panel = createHttpClientPanel();

function collect(fill: (context: Context) => void): HttpClientData {
  const context = lasting(new Context({ token: '000001', kind: 'request' }), 300);
  fill(context);
  const data = panel.collect(context);
  if (data === null) throw new Error('Nothing was collected.');
  return data;
}

function rowsOf(data: HttpClientData) {
  const model = panel.present?.(data, { profile: {} as Profile, query: {} }) as {
    page: { rows: { curl: string[]; parts: { label: string; ms: number }[]; link: string | null }[] };
  };
  return model.page.rows;
}

describe('the panel of outgoing calls', () => {
  it('has nothing to say where no call was made', () => {
    expect(panel.collect(new Context({ token: '000001', kind: 'request' }))).to.equal(null);
  });

  it('splits a call into the parts that are known', () => {
    const [row] = rowsOf(collect(addBusyPage));
    expect(row?.parts.map(({ label, ms }) => `${label} ${ms.toFixed(1)}`)).to.deep.equal([
      'Name lookup 2.1',
      'Connect 11.4',
      'TLS 18.9',
      'Waiting for the answer 112.8',
      'Reading it 3.4',
    ]);
  });

  it('links to the profile of the called service, and to nothing that is no web address', () => {
    const linkOf = (link: string | null) =>
      rowsOf(collect((context) => void context.add('call', call({ link }))))[0]?.link;
    expect(linkOf('https://rates.example/_profiler/1b2c3d')).to.equal(
      'https://rates.example/_profiler/1b2c3d',
    );
    for (const link of [
      'javascript:alert(1)',
      'data:text/html,x',
      '//evil',
      'https://a b',
      'https://a"onclick=1',
      null,
    ])
      expect(linkOf(link)).to.equal(null);
  });

  it('writes a cURL command that a shell reads as it was meant', () => {
    const nasty = `it's $(touch /tmp/never) \`x\` "q" \\`;
    const [row] = rowsOf(
      collect((context) => {
        context.add(
          'call',
          call({ method: 'PUT', url: `https://a.example/?q=${nasty}`, requestHeaders: ['x-note', nasty] }),
        );
      }),
    );
    const command = (row?.curl ?? []).join('\n').replace(/^curl/, `printf '%s\\n'`);
    const words = execFileSync('/bin/sh', ['-c', command]).toString().split('\n');
    expect(words.slice(0, 5)).to.deep.equal([
      '-X',
      'PUT',
      `https://a.example/?q=${nasty}`,
      '-H',
      `x-note: ${nasty}`,
    ]);
  });

  it('masks credentials in headers and addresses', () => {
    const data = collect((context) => {
      context.add('call', call({ url: 'https://rates.example/v2?api_key=abcdef123456' }));
    });
    const stored = JSON.stringify(createRedactor().tree({ data }).value);
    expect(stored).not.to.contain('abcdef123456');
    expect(stored).not.to.contain('0123456789abcdef');
  });

  it('counts calls, hosts and failures', () => {
    const { totals } = collect((context) => {
      for (let i = 0; i < 3; i++)
        context.add('call', call({ url: `https://a.example/x?page=${i}`, durationMs: 5 }));
      context.add('call', call({ durationMs: 5, status: 503 }));
    });
    expect(totals).to.include({ calls: 4, hosts: 2, failed: 1 });
  });
});
