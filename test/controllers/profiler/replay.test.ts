/** "Request again": what is sent, what is asked first, what is refused, and the comparison that it opens. */
import { type CheerioAPI, load } from 'cheerio';
import { expect } from 'chai';
import { type RecordingHost, useRecordingHosts } from '../../support/recording-host.ts';

describe('the button that requests again', () => {
  const start = useRecordingHosts();

  async function page({ url }: RecordingHost, path: string): Promise<CheerioAPI> {
    return load(await (await fetch(`${url}${path}`)).text());
  }

  /** Sends the form of a page as a browser without script does. */
  async function submit({ url }: RecordingHost, $: CheerioAPI): Promise<Response> {
    const form = $('form[action="/_profiler/-/replay"]');
    expect(form.attr('method')).to.equal('post');
    const body = new URLSearchParams();
    for (const field of form.find('input').toArray())
      body.append($(field).attr('name')!, $(field).attr('value')!);
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
    expect($('h1').text()).to.equal('Requested again');
    expect($('main .note.warn').text().replace(/\s+/g, ' ').trim()).to.equal(
      'B was sent without authorization and cookie, because their values were masked when the request was recorded.',
    );
    expect($('#findings .note, #findings .head').text()).to.include('0 new in B');
    const { profile } = (await host.profiler.profiles.read(again))!;
    expect([profile.method, profile.url]).to.deep.equal(['GET', '/fine?a=1']);
    const repeated = await page(host, `/_profiler/${again}`);
    expect(repeated('dt:contains("Repeats") + dd').text()).to.equal(token);
    // The comparison sends the first one again, so that each change can be tried from there.
    expect((await submit(host, $)).headers.get('location')).to.match(new RegExp(`a=${token}&b=`));
  });

  it('lists which findings went, stayed and came', async () => {
    const host = await start();
    const response = await submit(host, await page(host, `/_profiler/${await host.send('/broken')}`));
    const $ = await page(host, response.headers.get('location')!);
    expect($('#findings .head').text())
      .to.include('0 new in B, 0 gone in B')
      .and.match(/[1-9] in both/);
    expect($('#findings li').first().text()).to.include('in both').and.include('Thrown: Error');
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
