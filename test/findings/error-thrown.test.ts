import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Finding, Profile } from '../../app/index.ts';
import type { ProfileHead } from '../../app/profiler/profile.ts';
import { urls } from '../../app/urls.ts';
import { withFindingsApp } from '../support/findings-app.ts';
import { until } from '../support/waiting.ts';
import { draftsOf } from '../support/find-by-rule.ts';

describe('finding error-thrown', () => {
  const ask = withFindingsApp((app) => {
    app.get('/broken', () => {
      throw new RangeError('no such price');
    });
    app.get('/late', async (_req, res) => {
      res.send('fine');
      await sleep(20);
      throw new TypeError('too late');
    });
    // Frameworks respond to an error, and pass it on for what comes after.
    app.get('/sent/:status', (req, res, next) => {
      const error = new TypeError('no "price"');
      res.status(Number(req.params.status)).json({ message: error.message });
      next(error);
    });
    app.get('/other', (_req, res, next) => {
      res.status(404).json({ message: 'no such order' });
      next(new TypeError('no price'));
    });
    app.get('/wrapped', () => {
      throw new Error('no order', { cause: new RangeError('no such price') });
    });
    app.get('/refused', () => {
      throw Object.assign(new Error('not yours'), { status: 403 });
    });
    app.get('/field', () => {
      throw Object.assign(new Error('Unexpected file field'), { field: 'photo' });
    });
    app.get('/unnamed', () => {
      throw Object.assign(new Error(''), { name: 'ValidateError' });
    });
    app.get('/caught', (_req, res) => {
      try {
        throw new Error('handled');
      } catch {
        res.send('fine');
      }
    });
  });

  it('names an error without a message by its class alone', async () => {
    const { of, profile } = await ask('/unnamed');
    expect(of('error-thrown')[0]?.sentence).to.equal('Thrown: ValidateError');
    for (const length of ['', '?length=short'])
      expect(await ask.page(`${urls.profile(profile.token)}.md${length}`)).to.not.contain('ValidateError:');
    expect(await ask.page(`${urls.profile(profile.token)}.md`)).to.contain('| Thrown | `ValidateError` |');
    expect(await ask.page('/_profiler/search.md?q=ValidateError')).to.contain('| `ValidateError` |');
  });

  it('names the error and the line in the application’s code', async () => {
    const [finding] = (await ask('/broken')).of('error-thrown');
    expect(finding).to.include({
      label: 'exception',
      severity: 'bad',
      sentence: 'Thrown: RangeError: no such price',
      panel: 'exception',
      anchor: 'error-1',
    });
    expect(finding?.place).to.match(/^test\/findings\/error-thrown\.test\.ts:\d+$/);
  });

  it('reports errors after the response', async () => {
    const { profile } = await ask('/late');
    let finding: Finding | undefined;
    let rules: unknown[] = [];
    // It comes to the profile when that is stored already.
    await until(async () => {
      const stored = JSON.parse(await ask.page(urls.profileJson(profile.token))) as { profile: Profile };
      rules = stored.profile.findings.map(({ rule }) => rule);
      finding = stored.profile.findings.find(({ rule }) => rule === 'error-thrown');
      return finding !== undefined;
    }, 'the profile is written again');
    expect(finding).to.include({ label: 'late error', severity: 'warn' });
    // The response was sent before: it hid nothing.
    expect(rules).to.not.include('error-answered-2xx');
    expect(finding?.sentence).to.match(
      /^Thrown (?:\d+\.\d+ m?s after the response|after the headers were sent): TypeError: too late$/,
    );
  });

  it('takes an error that the response says as the one that was responded to', async () => {
    const [finding, ...more] = (await ask('/sent/500')).of('error-thrown');
    expect(finding).to.include({ label: 'exception', sentence: 'Thrown: TypeError: no "price"' });
    expect(more).to.deep.equal([]);
    expect((await ask('/sent/400')).of('error-thrown')).to.deep.equal([]);
    expect((await ask('/other')).of('error-thrown')[0]).to.include({ label: 'late error' });
  });

  it('names the field that a parser names', async () => {
    const [finding] = (await ask('/field')).of('error-thrown');
    expect(finding?.sentence).to.equal('Thrown: Error: Unexpected file field (field “photo”)');
  });

  it('says that no response was sent', () => {
    const record = {
      origin: 'passed on',
      late: false,
      atMs: 4,
      status: null,
      place: null,
      from: { name: 'load', place: 'a.ts:2' },
    };
    const thrown = {
      chain: [
        { class: 'RangeError', isError: true, message: 'lost', status: null, properties: {}, frames: [] },
      ],
    };
    const kept = { exception: { errors: [{ ...record, thrown }] } };
    const head = { status: null, outcome: 'aborted', durationMs: 900 } as ProfileHead;
    expect(draftsOf('error-thrown', kept, head)[0]).to.include({
      sentence: 'Thrown: RangeError: lost, and no response was sent',
      place: 'a.ts:2',
    });
    const late = { exception: { errors: [{ ...record, thrown, late: true, atMs: 901 }] } };
    expect(draftsOf('error-thrown', late, head)[0]?.sentence).to.equal(
      'Thrown 1.0 ms after the connection had closed: RangeError: lost',
    );
  });

  it('ignores refusals, caught errors and errors with a cause', async () => {
    for (const path of ['/wrapped', '/refused', '/caught'])
      expect((await ask(path)).of('error-thrown'), path).to.deep.equal([]);
  });
});
