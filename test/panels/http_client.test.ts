import { expect } from 'chai';
import type { HttpClientData } from '../../app/panels/http-client/data.ts';
import { httpClientPanel } from '../../app/panels/http-client/index.ts';
import { Context } from '../../app/profiler/record/context.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import type { Detail, Presentation, Row } from '../../app/profiler/read/rows.ts';
import { type PageItem, rowsPage } from '../../app/render/rows-page.ts';
import { addBusyPage, call, lasting } from '../support/observed-samples.ts';

const panel = httpClientPanel;

function collect(fill: (context: Context) => void): HttpClientData {
  const context = lasting(new Context({ token: '000001', kind: 'request' }), 300);
  fill(context);
  const data = panel.collect?.(context) ?? null;
  if (data === null) throw new Error('Nothing was collected.');
  return data;
}

const SHOP = { origin: 'https://shop.example', durationMs: 300, panels: {} } as unknown as Profile;

function presented(data: HttpClientData): Presentation {
  return panel.rows?.(data, { profile: SHOP, amendments: {} }) ?? { sections: [] };
}

function itemsOf(data: HttpClientData, query: Record<string, string> = {}): readonly PageItem[] {
  return rowsPage(presented(data), { page: { panel: 'http_client' }, query }).sections[0]?.items ?? [];
}

/** In the order they were made. */
function rowsOf(data: HttpClientData): readonly Row[] {
  return presented(data).sections.find(({ id }) => id === 'calls')?.rows ?? [];
}

function detailOf(row: Row | undefined, title: string): Detail | undefined {
  return row?.detail?.().find((part) => part.title === title);
}

function partsOf(row: Row | undefined): string[] | undefined {
  return detailOf(row, 'Parts')?.parts?.map(({ label, ms }) => `${label} ${ms.toFixed(1)}`);
}

function calls(...given: Partial<Parameters<typeof call>[0]>[]): HttpClientData {
  return collect((context) => {
    for (const one of given) context.add('call', call(one));
  });
}

describe('the panel of outgoing calls', () => {
  it('splits a call into the parts that are known', () => {
    const [row] = rowsOf(collect(addBusyPage));
    expect(partsOf(row)).to.deep.equal([
      'DNS lookup 2.1',
      'Connect 11.4',
      'TLS 18.9',
      'Waiting for response 112.8',
      'Downloading 3.4',
    ]);
  });

  it('shows the queueing before a request was sent, and one sum if the client reports no parts', () => {
    const connection = { lookupMs: null, connectMs: null, tlsMs: null, allMs: 20 };
    const [tls, reused] = rowsOf(
      calls(
        { connection, sentMs: 25, headersMs: 60, durationMs: 70, url: 'https://a.example/1' },
        {
          connection: null,
          reused: true,
          sentMs: 0.02,
          headersMs: 60,
          durationMs: null,
          url: 'https://b.example/2',
        },
      ),
    );
    expect(partsOf(tls)).to.deep.equal(['Queued 5.0', 'Connect (total) 20.0', 'Waiting for response 35.0', 'Downloading 10.0']); // prettier-ignore
    expect(partsOf(reused)).to.deep.equal(['Waiting for response 60.0']);
  });

  it('links to the profile of the called service, and to nothing that is no web address', () => {
    const linkOf = (link: string | null) =>
      detailOf(rowsOf(calls({ link, url: 'https://rates.example/v2' }))[0], 'Profile')?.link;
    const href = 'https://rates.example/_profiler/1b2c3d';
    expect(linkOf(href)).to.deep.equal({ label: href, href });
    expect(linkOf('/_profiler/1b2c3d')).to.deep.equal({ label: href, href });
    for (const link of ['javascript:alert(1)', 'data:text/html,x', '//evil', 'https://a b', 'https://a"onclick=1', 'https:///x', '/\\evil', '', null])
      expect(linkOf(link), String(link)).to.equal(undefined); // prettier-ignore
  });

  it('links to the own profile where the service has called itself', () => {
    const profileOf = (link: string) => detailOf(rowsOf(calls({ link }))[0], 'Profile')?.link;
    expect(profileOf('https://shop.example/_profiler/1b2c3d')).to.deep.equal({
      label: '1b2c3d',
      token: '1b2c3d',
    });
    for (const link of ['https://shop.example/_profiler/1b2c3d/exception', 'https://shop.example.evil/_profiler/1b2c3d', 'https://shop.example/a/_profiler/1b2c3d'])
      expect(profileOf(link), link).to.deep.equal({ label: link, href: link }); // prettier-ignore
  });

  it('folds what was tried again, asked for twice, or made in a loop', () => {
    const groupOf = (data: HttpClientData) =>
      itemsOf(data).map(({ row, members }) =>
        members.length === 0 ? null : `${row.badges?.[0] ?? ''} × ${members.length}`,
      );
    const url = 'https://a.example/quote';
    expect(groupOf(calls({ url, status: 503 }, { url, error: 'Error: connect ECONNREFUSED', status: null }, { url }))).to.deep.equal(['retried × 3']); // prettier-ignore
    expect(groupOf(calls({ url }, { url }))).to.deep.equal(['repeated × 2']);
    expect(groupOf(calls({ url }, { url, caller: 'src/other.ts:1' }))).to.deep.equal(['repeated × 2']);
    const loop = [1, 2, 3].map((id) => ({ url: `https://a.example/products/${id}?x=${id}` }));
    expect(groupOf(calls(...loop))).to.deep.equal(['many calls × 3']);
    expect(itemsOf(calls(...loop))[0]?.row.text).to.equal('https://a.example/products/…');
    // Nothing but likeness: two of them, other lines, other methods.
    expect(groupOf(calls(...loop.slice(1)))).to.deep.equal([null, null]);
    expect(groupOf(calls(...loop.map((one, line) => ({ ...one, caller: `src/a.ts:${line}` }))))).to.deep.equal([null, null, null]); // prettier-ignore
    expect(groupOf(calls({ url }, { url, method: 'GET' }))).to.deep.equal([null, null]);
  });

  it('names the error by its code, and the call whose redirect was followed', () => {
    const [refused, failed, moved, target] = rowsOf(
      calls(
        { error: 'Error: connect ECONNREFUSED 127.0.0.1:1', status: null, url: 'https://a.example/1' },
        { error: 'TimeoutError: The operation was aborted', status: null, url: 'https://a.example/two' },
        { status: 302, responseHeaders: ['location', '/there'], url: 'https://a.example/here' },
        { url: 'https://a.example/there' },
      ),
    );
    expect(refused?.badges).to.deep.equal(['ECONNREFUSED']);
    expect(failed?.badges).to.deep.equal(['TimeoutError']);
    const redirectOf = (row: Row | undefined) =>
      row?.fields?.find(({ label }) => label === 'Redirected by')?.value;
    expect(redirectOf(moved)).to.equal(null);
    expect(redirectOf(target)).to.equal('call 3');
  });

  it('finds by URL, status, error and file', () => {
    const data = calls(
      { url: 'https://a.example/one', caller: 'src/rates.ts:7' },
      { url: 'https://b.example/two', status: 418 },
      ...Array.from({ length: 9 }, (_, n) => ({ url: `https://c-${n}.example/x`, status: 204 })),
    );
    for (const [find, id] of [['A.EXAMPLE', 'c1'], ['418', 'c2'], ['rates.ts:7', 'c1']] as const)
      expect(itemsOf(data, { find }).map(({ row }) => row.id), find).to.deep.equal([id]); // prettier-ignore
    expect(itemsOf(data, { find: 'nowhere' })).to.deep.equal([]);
  });

  it('says what a cURL command lacks', () => {
    const [body, plain] = rowsOf(
      calls(
        {
          requestHeaders: ['content-length', '12', 'accept-encoding', 'gzip'],
          url: 'https://a.example/a[1]',
        },
        { method: 'HEAD', requestHeaders: [], url: 'https://a.example/b' },
      ),
    );
    expect(detailOf(body, 'As cURL')?.note).to.equal('Not included: the body (not recorded).');
    expect(detailOf(body, 'As cURL')?.block?.text.split(' \\\n')).to.deep.equal([
      `curl 'https://a.example/a[1]'`,
      '  --globoff',
      '  -X POST',
      '  --compressed',
    ]);
    expect(detailOf(plain, 'As cURL')).to.deep.equal({
      title: 'As cURL',
      block: { text: `curl 'https://a.example/b' \\\n  --head`, language: 'sh' },
    });
  });

  it('presents every call with its status, parts and place, and the headers of those that failed', () => {
    const { figures, sections } = presented(
      calls(
        { url: 'https://a.example/one?page=2', caller: 'src/a.ts:1', durationMs: 60 },
        { url: 'https://b.example/two', status: 503, responseHeaders: ['retry-after', '5'] },
        { url: 'https://c.example/three', status: null, error: 'Error: connect ECONNREFUSED' },
        { url: 'https://d.example/four', status: null, durationMs: null, headersMs: null },
        { url: 'https://d.example/five', status: 402 },
      ),
    );
    const rows = sections.find(({ id }) => id === 'calls')?.rows ?? [];
    expect(rows.map(({ text, tone, badges, note }) => [text, tone, badges, note])).to.deep.equal([
      ['https://a.example/one?page=2', 'plain', [], '200'],
      ['https://b.example/two', 'bad', ['failed'], '503'],
      ['https://c.example/three', 'bad', ['ECONNREFUSED'], null],
      ['https://d.example/four', 'warn', [], 'no response'],
      ['https://d.example/five', 'plain', [], '402'],
    ]);
    expect(rows[0]).to.include({ label: 'POST', number: 60, place: 'src/a.ts:1', key: 'POST https://a.example/one' }); // prettier-ignore
    expect(rows.map(({ block }) => block?.text.split('\n').slice(-2) ?? null)).to.deep.equal([
      null,
      ['HTTP 503', 'retry-after: 5'],
      ['content-type: application/json', 'authorization: Bearer 0123456789abcdef'],
      null,
      ['content-type: application/json', 'x-debug-token-link: https://rates.tax.example/_profiler/1b2c3d'],
    ]);
    expect(figures?.map(({ label, value, note }) => [label, value, note]).slice(0, 3)).to.deep.equal([
      ['Outgoing calls', 5, undefined],
      ['Hosts', 4, undefined],
      ['Failed', 2, '1 answered with 4xx'],
    ]);
  });
});
