import { expect } from 'chai';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { FindingRule } from '../../app/profiler/read/finding-rule.ts';
import type { Panel } from '../../app/profiler/panel.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { createRecorder, type Recorder } from '../../app/profiler/record/recorder.ts';
import { createRedactor } from '../../app/profiler/masking/redact.ts';
import { documentIn, type StoredText } from '../../app/profiler/record/summary.ts';
import type { Context } from '../../app/profiler/record/context.ts';
import { until } from '../support/waiting.ts';

const counting: Panel<{ errors: number; late: number }> = {
  name: 'counting',
  title: 'Counting',
  collect: (context) => ({ errors: context.all('error').length, late: context.elapsedMs() }),
  menu: { summary: ({ errors }) => ({ text: String(errors), tone: 'plain', count: errors }) },
};
const manyErrors: FindingRule<{ counting: { errors: number } }> = {
  name: 'many-errors',
  needs: ['counting'],
  labels: ['errors'],
  why: 'It has errors.',
  fix: 'Have none.',
  find: ({ counting: { errors } }) =>
    errors === 0 ? [] : [{ severity: 'bad', sentence: `${errors} errors` }],
};
const broken: Panel = {
  name: 'broken',
  title: 'Broken',
  collect: () => {
    throw new Error('no data for you');
  },
};

function setUp(): { recorder: Recorder; stored: StoredText[]; profiles: () => Profile[] } {
  const stored: StoredText[] = [];
  let token = 0;
  const recorder = createRecorder({
    panels: [counting, broken],
    rules: [manyErrors],
    redactor: createRedactor({ secrets: { APP_SECRET: 'planted-secret-1' } }),
    nextToken: () => (++token).toString(16).padStart(6, '0'),
    write: (profile) => stored.push(profile),
    process: 'web.1',
    warn: () => undefined,
  });
  return {
    recorder,
    stored,
    profiles: () => stored.map((record) => recorder.conclude(documentIn(record), recorder)),
  };
}

function addError(context: Context, error: unknown): void {
  context.add('error', { error, atMs: context.elapsedMs(), origin: 'handled', status: 500 });
}

describe('recorder', () => {
  it('gives a snapshot of a running request, and stores the final profile once', async () => {
    const { recorder, stored, profiles } = setUp();
    const context = recorder.open('request');
    expect(recorder.snapshot(context)).to.include({
      state: 'running',
      token: context.token,
      durationMs: null,
    });
    recorder.finish(context);
    await until(() => stored.length > 0, 'the profile is stored');
    expect(profiles().map(({ state }) => state)).to.deep.equal(['final']);
    expect(recorder.running(context.token)).to.equal(undefined);
  });

  it('shows of a request the panels asked for alone, masked by what all of them keep', () => {
    let shares = 0;
    const form: Panel = {
      name: 'form',
      title: 'Form',
      collect: () => ({ password: 'correct horse battery' }),
      recorded: { shared: () => ({ shares: ++shares }) },
    };
    const said: Panel = { name: 'said', title: 'Said', collect: () => ['correct horse battery', 1] };
    const recorder = createRecorder({
      panels: [form, said],
      redactor: createRedactor(),
      nextToken: () => 'abcdef',
      write: () => undefined,
      process: 'test',
      warn: (sentence) => expect.fail(sentence),
    });
    const context = recorder.open('request');
    const { panels } = recorder.snapshot(context, ['said']);
    expect(Object.keys(panels)).to.deep.equal(['said']);
    expect(panels.said?.data).to.deep.equal((recorder.snapshot(context).panels.said ?? null)?.data);
    expect(JSON.stringify(panels)).to.not.include('horse');
    expect(shares, 'asked for by the whole one').to.equal(1);
  });

  it('builds before anything else when many responses have finished', async () => {
    const stored: StoredText[] = [];
    const slow: Panel = {
      name: 'slow',
      title: 'Slow',
      collect() {
        const until = performance.now() + 0.2;
        while (performance.now() < until);
        return null;
      },
    };
    let token = 0;
    const recorder = createRecorder({
      panels: [slow],
      redactor: createRedactor(),
      nextToken: () => String(++token),
      write: (profile) => stored.push(profile),
      process: 'web.1',
      warn: () => undefined,
    });
    for (let i = 0; i < 160; i++) recorder.finish(recorder.open('request'));
    await nextTurn();
    await nextTurn();
    expect(stored.length).to.be.at.least(60);
    recorder.close();
  });

  it('keeps a failing panel to itself', async () => {
    const { recorder, stored, profiles } = setUp();
    recorder.finish(recorder.open('request'));
    await until(() => stored.length > 0, 'the profile is stored');
    const [profile] = profiles();
    expect(profile?.panels.broken).to.deep.equal({
      data: null,
      summary: null,
      error: 'Error: no data for you',
    });
    expect(profile?.panels.counting?.error).to.equal(null);
  });

  it('runs rules for requests that somebody reads only', async () => {
    const { recorder, stored, profiles } = setUp();
    const context = recorder.open('request');
    addError(context, new Error('no'));
    expect(await recorder.indexOf(context)).to.include({ findings: 1, mark: 'errors' });
    recorder.finish(context);
    recorder.finish(recorder.openSummary('limit'));
    await until(() => stored.length === 2, 'both are stored');
    expect(stored.map(({ row }) => [row.findings, row.mark])).to.deep.equal([
      [null, null],
      [0, null],
    ]);
    expect(profiles().map(({ findings }) => findings.length)).to.deep.equal([1, 0]);
  });

  it('finds nothing wrong with its own pages', () => {
    const { recorder } = setUp();
    const kinds = (['request', 'error_page', 'profiler'] as const).map((kind) => {
      const context = recorder.open(kind);
      addError(context, new Error('no'));
      return recorder.snapshot(context).findings.length;
    });
    expect(kinds).to.deep.equal([1, 0, 0]);
    const context = recorder.open('request');
    addError(context, new Error('no'));
    expect(recorder.snapshot(context, ['counting']).findings).to.deep.equal([]);
  });

  it('waits for facts that are expected, but not for ever', async () => {
    const { recorder, stored, profiles } = setUp();
    const quick = recorder.open('request');
    quick.expect(
      sleep(30).then(() => {
        addError(quick, new Error('came beside it'));
      }),
    );
    recorder.finish(quick);
    const stuck = recorder.open('request');
    stuck.expect(new Promise(() => undefined));
    recorder.finish(stuck);
    await until(() => stored.length === 2, 'both are stored');
    expect(profiles().map(({ token, error }) => [token, error?.message ?? null])).to.deep.equal([
      [quick.token, 'came beside it'],
      [stuck.token, null],
    ]);
  });

  it('builds the profiles that a fact completes together, and not while it arrives', async () => {
    const { recorder, stored } = setUp();
    let arrive = (): void => undefined;
    const fact = new Promise<void>((resolve) => (arrive = resolve));
    for (let i = 0; i < 12; i++) {
      const context = recorder.open('request');
      context.expect(fact);
      recorder.finish(context);
    }
    arrive();
    for (let microtask = 0; microtask < 20; microtask++) await Promise.resolve();
    expect(stored).to.have.length(0);
    await until(() => stored.length === 12, 'all are stored');
  });

  it('stores a request that goes on for long as running, and replaces it at the end', async () => {
    const { recorder, stored, profiles } = setUp();
    const context = recorder.open('request');
    await until(() => stored.length === 1, 'it is stored while it runs');
    recorder.finish(context);
    await until(() => stored.length === 2, 'it is stored at its end');
    expect(profiles().map(({ state }) => state)).to.deep.equal(['running', 'final']);
  });

  it('writes again when something happens after the answer', async () => {
    const { recorder, stored, profiles } = setUp();
    const context = recorder.open('request');
    recorder.finish(context);
    await until(() => stored.length === 1, 'it is stored at its end');
    addError(context, new Error('nobody waited for me'));
    await until(() => stored.length === 2, 'it is stored again');
    expect(profiles().map(({ error }) => error?.message ?? null)).to.deep.equal([
      null,
      'nobody waited for me',
    ]);
  });

  it('makes everything final at close, also late facts that were waiting', async () => {
    const { recorder, stored, profiles } = setUp();
    const late = recorder.open('request');
    recorder.finish(late);
    await until(() => stored.length === 1, 'it is stored at its end');
    addError(late, new Error('late'));
    recorder.open('request');
    recorder.close();
    expect(profiles().map(({ state, error }) => [state, error?.message ?? null])).to.deep.equal([
      ['final', null],
      ['final', 'late'],
      ['final', null],
    ]);
  });

  it('makes final at close what still runs, as cut off with its time until then, and nothing replaces it', async () => {
    const { recorder, profiles } = setUp();
    const context = recorder.open('request');
    const work = recorder.openWork('job', { label: 'mail', name: 'send' });
    const ended = recorder.open('request');
    recorder.finish(ended);
    recorder.close();
    recorder.finish(context);
    await nextTurn();
    expect(profiles().map(({ token, state, outcome }) => [token, state, outcome])).to.have.deep.members([
      [context.token, 'final', 'cut off'],
      [work.token, 'final', 'cut off'],
      [ended.token, 'final', 'running'],
    ]);
    for (const { durationMs } of profiles()) expect(durationMs).to.be.a('number');
  });
});
