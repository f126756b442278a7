/** "Request again": what is sent, what is asked first, what is refused, and the comparison that it opens. */
import { type CheerioAPI, load } from 'cheerio';
import { expect } from 'chai';
import { type RecordingHost, useRecordingHosts } from '../../support/recording-host.ts';
import { withOptimizedCode } from '../../support/optimized-code.ts';

describe('the button that requests again', () => {
  withOptimizedCode();
  const start = useRecordingHosts();

  async function page({ url }: RecordingHost, path: string): Promise<CheerioAPI> {
    return load(await (await fetch(`${url}${path}`)).text());
  }

  /** Sends the form of a page as a browser without script does. */
  async function submit(
    { url }: RecordingHost,
    $: CheerioAPI,
    given: Record<string, string> = {},
  ): Promise<Response> {
    const form = $('form[action="/_profiler/-/replay"]');
    expect(form.attr('method')).to.equal('post');
    const body = new URLSearchParams();
    for (const field of form.find('input').toArray())
      body.append($(field).attr('name')!, $(field).attr('value') ?? '');
    for (const [name, value] of Object.entries(given)) body.set(name, value);
    return fetch(`${url}/_profiler/-/replay`, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin: url },
      body,
    });
  }

  async function count({ profiler }: RecordingHost): Promise<number> {
    return (await profiler.profiles.find({ limit: 100, offset: 0 })).rows.length;
  }

  it('sends a GET at once and compares the two, saying what was not sent', async () => {
    const host = await start();
    const headers = {
      authorization: 'Bearer abcdefghijklmnop',
      cookie: 'sid=0123456789abcdef',
      'x-tenant': 'north',
    };
    const token = await host.send('/fine?a=1', { headers });
    const response = await submit(host, await page(host, `/_profiler/${token}`));
    expect(response.status).to.equal(303);
    const location = response.headers.get('location')!;
    const again = /^\/_profiler\/compare\?a=[0-9a-f]{6}&b=([0-9a-f]{6})$/.exec(location)![1]!;
    const $ = await page(host, location);
    expect($('h1').text()).to.equal('Requested again: no findings before or after');
    expect($('main .note.warn').text().replace(/\s+/g, ' ').trim()).to.equal(
      'B was sent without authorization and cookie, because their values were masked when the request was recorded.',
    );
    const { profile } = (await host.profiler.profiles.read(again))!;
    expect([profile.method, profile.url]).to.deep.equal(['GET', '/fine?a=1']);
    const repeated = await page(host, `/_profiler/${again}`);
    expect(repeated('dt:contains("Repeats") + dd').text()).to.equal(token);
    // The comparison sends the first one again, so that each change can be tried from there.
    expect((await submit(host, $)).headers.get('location')).to.match(new RegExp(`a=${token}&b=`));
  });

  it('lists no header that differs because it was sent again', async () => {
    const host = await start();
    const response = await submit(host, await page(host, `/_profiler/${await host.send('/fine?a=1')}`));
    const $ = await page(host, response.headers.get('location')!);
    expect($('main').text()).to.not.match(/x-debug-profile|keep-alive/i);
  });

  it('lists which findings went, stayed and came', async () => {
    const host = await start();
    const response = await submit(host, await page(host, `/_profiler/${await host.send('/broken')}`));
    const $ = await page(host, response.headers.get('location')!);
    expect($('h1').text()).to.match(/^Still there: .*exception/);
    // First of all that the page says.
    expect($('main > section').first().attr('id')).to.equal('findings');
    expect($('#findings li').first().text()).to.include('Still there').and.include('Thrown: Error');
    const markdown = await fetch(
      `${host.url}${response.headers.get('location')!.replace('compare?', 'compare.md?')}`,
    );
    expect(await markdown.text()).to.include('- Still there: ');
  });

  it('asks for the values that were masked, and sends what was filled in', async () => {
    const host = await start();
    const body = JSON.stringify({ item: 'pen', password: 'correct horse', pin: { cvv: 123 } });
    const token = await host.send('/orders?token=abcdefghijklmnop', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer abcdefghijklmnop' },
      body,
    });
    const asked = await submit(host, await page(host, `/_profiler/${token}`));
    const $ = load(await asked.text());
    const labels = $('main label')
      .toArray()
      .map((label) => $(label).text());
    expect(labels).to.deep.equal([
      'token (address)',
      'password (body)',
      'cvv (body)',
      'authorization (header, not sent if empty)',
    ]);
    expect(await count(host)).to.equal(1);
    const given = {
      'value-1': 'a&b',
      'value-2': 'say "hi"',
      'value-3': '456',
      'header-authorization': 'Bearer x',
    };
    const response = await submit(host, $, given);
    expect(response.status).to.equal(303);
    expect(host.bodies.at(-1)).to.equal('{"item":"pen","password":"say \\"hi\\"","pin":{"cvv":456}}');
    const again = /b=([0-9a-f]{6})/.exec(response.headers.get('location')!)![1]!;
    const compared = await page(host, response.headers.get('location')!);
    expect(compared('main').text()).to.not.include('was sent without');
    expect(JSON.stringify(await host.profiler.profiles.read(again))).to.not.include('say \\\\"hi');
  });

  it('lets the headers that were not sent be filled in afterwards', async () => {
    const host = await start();
    const token = await host.send('/fine', { headers: { authorization: 'Bearer abcdefghijklmnop' } });
    const first = await submit(host, await page(host, `/_profiler/${token}`));
    const $ = await page(host, first.headers.get('location')!);
    expect($('button[name=ask]').text()).to.equal('Fill in and request again');
    const asked = await submit(host, $, { ask: 'yes' });
    expect(asked.status).to.equal(200);
    const last = await submit(host, load(await asked.text()), { 'header-authorization': 'Bearer x' });
    const compared = await page(host, last.headers.get('location')!);
    expect(compared('main').text()).to.not.include('was sent without');
  });

  it('takes a CPU profile of the new request, and opens it', async () => {
    const host = await start();
    const $ = await page(host, `/_profiler/${await host.send('/fine')}`);
    expect($('button[name=cpu]').text()).to.equal('…with CPU profile');
    const response = await submit(host, $, { cpu: 'yes' });
    expect(response.headers.get('location')).to.match(/^\/_profiler\/[0-9a-f]{6}\?panel=cpu$/);
    const sampled = await page(host, response.headers.get('location')!);
    expect(sampled('#flame').length).to.equal(1);
  });

  it('asks before it sends what may change something', async () => {
    const host = await start();
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"item":"Äpfel"}',
    };
    const token = await host.send('/orders', init);
    const asked = await submit(host, await page(host, `/_profiler/${token}`));
    expect(asked.status).to.equal(200);
    const $ = load(await asked.text());
    expect($('h1').text()).to.equal('Send this request again?');
    expect($('main').text()).to.include('POST may change data').and.include('the recorded body (17 B)');
    expect(await count(host)).to.equal(1);
    const response = await submit(host, $);
    expect(response.status).to.equal(303);
    const again = /b=([0-9a-f]{6})/.exec(response.headers.get('location')!)![1]!;
    expect((await host.profiler.profiles.read(again))!.profile.status).to.equal(201);
  });

  it('refuses a body that was truncated, with the reason', async () => {
    const host = await start();
    const body = JSON.stringify({ text: 'a '.repeat(40_000) });
    const token = await host.send('/orders', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    const response = await submit(host, await page(host, `/_profiler/${token}`));
    expect(response.status).to.equal(400);
    const $ = load(await response.text());
    expect($('h1').text()).to.equal('Request not sent again');
    expect($('main').text()).to.include('Its body was truncated');
    expect(await count(host)).to.equal(1);
  });

  it('sends nothing for a forged form, and nothing at all where the setting says so', async () => {
    const host = await start();
    const token = await host.send('/fine');
    for (const [headers, csrf] of [
      [{ origin: 'https://evil.example' }, await formValue(host, token)],
      [{ origin: host.url }, 'x'],
    ] as const) {
      const body = new URLSearchParams({ token, csrf, sure: 'yes' });
      const response = await fetch(`${host.url}/_profiler/-/replay`, { method: 'POST', headers, body });
      expect(response.status).to.equal(403);
    }
    expect((await fetch(`${host.url}/_profiler/-/replay?token=${token}`)).status).to.equal(405);
    expect(await count(host)).to.equal(1);
    const closed = await start({ replay: 'off' });
    const other = await closed.send('/fine');
    const $ = await page(closed, `/_profiler/${other}`);
    expect($('form[action="/_profiler/-/replay"]')).to.have.length(0);
    const csrf = $('input[name=csrf]').attr('value')!;
    const refused = await fetch(`${closed.url}/_profiler/-/replay`, {
      method: 'POST',
      headers: { origin: closed.url },
      body: new URLSearchParams({ token: other, csrf }),
    });
    expect(refused.status).to.equal(400);
    expect(await count(closed)).to.equal(1);
  });

  async function formValue(host: RecordingHost, token: string): Promise<string> {
    return (await page(host, `/_profiler/${token}`))('input[name=csrf]').attr('value')!;
  }
});
