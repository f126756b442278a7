/** Real requests of a real application, sampled by V8: by header, by form, and by itself after a block. */
import { load } from 'cheerio';
import { expect } from 'chai';
import express from 'express';
import { pbkdf2Sync } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import type { Server } from 'node:http';
import { Session } from 'node:inspector';
import { setTimeout as sleep } from 'node:timers/promises';
import { createProfiler, type Profiler, type ProfilerOptions } from '../../app/index.ts';
import type { CpuSamples, KeptCpu, SampledElsewhere } from '../../app/profiler/record/cpu-samples.ts';
import { callTree, type CallNode } from '../../app/profiler/read/cpu-tree.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import type { cpuProfileFile } from '../../app/render/cpuprofile.ts';
import { close, listen } from '../support/listen.ts';
import { until } from '../support/waiting.ts';
import { finalProfile } from '../support/final-profile.ts';

const HEADER = { 'x-debug-profile': 'cpu' };
const HERE = /test\/observe\/cpu\.test\.ts:\d+$/;

/** On a busy machine, time that passes says nothing of how often a sample met the thread. */
function hasComputed(ms: number, since: NodeJS.CpuUsage): boolean {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000 >= ms;
}

async function addUpNumbers(): Promise<number> {
  const since = process.cpuUsage();
  let sum = 0;
  do for (let index = 0; index < 20_000; index++) sum += String(sum * index).length;
  while (!hasComputed(80, since));
  await sleep(1);
  return sum;
}

async function multiplyForOthers(): Promise<number> {
  const since = process.cpuUsage();
  let product = 1;
  do for (let index = 0; index < 200_000; index++) product = (product * 7) % 1_000_003;
  while (!hasComputed(60, since));
  await sleep(1);
  return product;
}

function namesIn(root: CallNode): string[] {
  return root.children.flatMap((child) => [child.name, ...namesIn(child)]);
}

function find(root: CallNode, name: string): CallNode | undefined {
  for (const child of root.children) {
    const found = child.name === name ? child : find(child, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

describe('CPU profiles of requests', () => {
  let profiler: Profiler;
  let server: Server;
  let url: string;
  /** Of `/waits`, which ends after the requests that come meanwhile. */
  const steps = new EventEmitter();

  async function start(options: ProfilerOptions): Promise<void> {
    profiler = createProfiler({ observe: false, warn: () => undefined, toolbar: false, ...options });
    const app = express();
    app.use(profiler.watch, profiler.pages);
    app.get('/quick', (_req, res) => void res.send('quick'));
    app.get('/sum', async function sum(_req, res) {
      await sleep(5);
      res.json(await addUpNumbers());
    });
    app.get('/hash', async function hash(_req, res) {
      await sleep(5);
      const key = pbkdf2Sync('a', 'b', 150_000, 64, 'sha512');
      res.json(key.length);
    });
    app.get('/waits', async (_req, res) => {
      steps.emit('begun');
      const sum = await addUpNumbers();
      await once(steps, 'others ended');
      res.json(sum);
    });
    app.get('/other', async (_req, res) => {
      await sleep(5);
      res.json(await multiplyForOthers());
    });
    app.get('/throws', async () => {
      await sleep(5);
      throw new Error(String(await addUpNumbers()));
    });
    app.get('/stream', async (_req, res) => {
      for (let part = 0; part < 4; part++) {
        await addUpNumbers();
        res.write('part');
        await sleep(10);
      }
      res.end();
    });
    app.use(profiler.errors);
    ({ server, origin: url } = await listen(app));
    await fetch(`${url}/quick`);
  }

  afterEach(() => close(server, profiler));

  async function send(path: string, headers: Record<string, string> = {}): Promise<Profile> {
    return finalProfile(profiler, await fetch(url + path, { headers }));
  }
  const cpuOf = (profile: Profile): KeptCpu | null => (profile.panels.cpu?.data ?? null) as KeptCpu | null;
  function samplesOf(profile: Profile): CpuSamples {
    const kept = cpuOf(profile);
    if (kept === null || !('nodes' in kept)) throw new Error(`not sampled: ${JSON.stringify(kept)}`);
    return kept;
  }

  it('name the function that used the CPU, after an await too, and can be opened in Chrome DevTools', async () => {
    await start({ cpu: 'ask' });
    let profile = await send('/sum', HEADER);
    // On a busy machine the end of the request may be noted long before the turn that ended it is over.
    await until(async () => {
      if (samplesOf(profile).ownMs <= (profile.durationMs ?? 0) + 1) return true;
      profile = await send('/sum', HEADER);
      return false;
    }, 'no more is measured than the request took');
    const samples = samplesOf(profile);
    expect(samples.asked).to.equal('header');
    // A busy machine takes few samples.
    expect(samples.samples).to.be.above(0);
    expect(samples.ownMs).to.be.above(40);
    const root = callTree(samples);
    const held = find(root, 'addUpNumbers');
    expect(held?.place).to.match(HERE);
    expect(held?.totalUs).to.be.above(root.totalUs / 4);
    // What starting the sampler took is not the request's.
    expect(profile.durationMs).to.be.below(samples.spanMs + 1);

    const { token } = profile;
    const response = await fetch(`${url}/_profiler/${token}.cpuprofile`);
    expect(response.headers.get('content-disposition')).to.contain(`${token}.cpuprofile`);
    const {
      nodes,
      samples: taken,
      timeDeltas,
      startTime,
      endTime,
    } = (await response.json()) as NonNullable<ReturnType<typeof cpuProfileFile>>;
    expect(taken).to.have.length(timeDeltas.length);
    // What starting the sampler took is not in it.
    expect(startTime).to.equal(profile.startedAt * 1000);
    expect((endTime - startTime) / 1000).to.be.within(0, (profile.durationMs ?? 0) + 1000);
    expect(timeDeltas.reduce((sum, us) => sum + us, startTime)).to.equal(endTime);
    expect(timeDeltas.every((us) => us >= 0)).to.equal(true);
    const ids = new Set(nodes.map(({ id }) => id));
    expect(taken.every((id) => ids.has(id))).to.equal(true);
    const children = nodes.flatMap((node) => node.children);
    expect(children.toSorted((a, b) => a - b)).to.deep.equal(nodes.slice(1).map(({ id }) => id));
    const own = nodes.find(({ callFrame }) => callFrame.functionName === 'addUpNumbers');
    expect(own?.callFrame.url).to.match(/^file:.*cpu\.test\.ts$/);
  });

  it('are made one at a time, and leave out what other requests did meanwhile', async () => {
    await start({ cpu: 'ask' });
    const begun = once(steps, 'begun');
    const asked = send('/waits', HEADER);
    await begun;
    expect(cpuOf(await send('/other', HEADER))).to.have.property('skipped');
    for (let others = 0; others < 2; others++) await send('/other');
    steps.emit('others ended');
    const samples = samplesOf(await asked);
    const names = namesIn(callTree(samples));
    expect(names).to.include('addUpNumbers');
    expect(names).not.to.include('multiplyForOthers');
    expect(samples.otherMs).to.be.above(20);
    // The next one can be sampled again.
    expect(samplesOf(await send('/sum', HEADER)).samples).to.be.above(0);
  });

  it('are made for requests that throw, and of whole streams', async () => {
    await start({ cpu: 'ask' });
    const thrown = await send('/throws', HEADER);
    expect(thrown.status).to.equal(500);
    expect(namesIn(callTree(samplesOf(thrown)))).to.include('addUpNumbers');
    expect(samplesOf(await send('/stream', HEADER)).ownMs).to.be.above(150);
  });

  it('work beside another inspector session that profiles', async () => {
    await start({ cpu: 'ask' });
    const session = new Session();
    session.connect();
    session.post('Profiler.enable');
    session.post('Profiler.start');
    expect(samplesOf(await send('/sum', HEADER)).samples).to.be.above(0);
    const stopped = new Promise<number>((resolve, reject) => {
      session.post('Profiler.stop', (error, result) => {
        if (error === null) resolve(result.profile.samples?.length ?? 0);
        else reject(error);
      });
    });
    expect(await stopped).to.be.above(0);
    session.disconnect();
  });

  it('are asked for by a signed form for the next request to the address, once', async () => {
    await start({ cpu: 'ask' });
    const { token } = await send('/quick?page=1');
    const page = async () => load(await (await fetch(`${url}/_profiler/${token}?panel=cpu`)).text());
    const form = (await page())('form.ask');
    const fields = new URLSearchParams();
    for (const { name, value } of form.serializeArray()) fields.append(name, value);
    const post = (body: URLSearchParams): Promise<Response> =>
      fetch(url + (form.attr('action') ?? ''), {
        method: 'POST',
        redirect: 'manual',
        headers: { 'sec-fetch-site': 'same-origin' },
        body,
      });
    expect((await post(new URLSearchParams({ token, csrf: 'x' }))).status).to.equal(403);
    expect((await post(fields)).headers.get('location')).to.equal(`/_profiler/${token}?panel=cpu`);
    expect((await page())('form.ask').text()).to.contain('is sampled, within 10 minutes');
    expect(cpuOf(await send('/sum'))).to.equal(null);
    expect(samplesOf(await send('/quick?page=2')).asked).to.equal('form');
    expect(cpuOf(await send('/quick?page=2'))).to.equal(null);
  });

  it('take the header only from those who may see the pages', async () => {
    await start({ cpu: 'ask', password: 'correct horse' });
    expect(cpuOf(await send('/sum', HEADER))).to.equal(null);
    const authorization = `Basic ${Buffer.from('x:correct horse').toString('base64')}`;
    expect(samplesOf(await send('/sum', { ...HEADER, authorization })).samples).to.be.above(0);
  });

  it('are made by itself after a block, once, with the line that called Node, and named in later requests', async () => {
    await start({ cpu: 'auto' });
    let blocked: Profile | undefined;
    let sampled: Profile | undefined;
    for (let tries = 0; tries < 10 && sampled === undefined; tries++) {
      const profile = await send('/hash');
      if ('nodes' in (cpuOf(profile) ?? {})) sampled = profile;
      else blocked = profile;
    }
    const samples = samplesOf(sampled!);
    expect(samples.asked).to.equal('block');
    const call = find(callTree(samples), 'pbkdf2Sync');
    expect(call?.of).to.equal('node:crypto');
    expect(call?.calledAt).to.match(HERE);
    await until(async () => {
      const { amendments } = (await profiler.profiles.read(blocked!.token))!;
      return (amendments.sampled as SampledElsewhere | undefined)?.profile === sampled?.token;
    }, 'the name of the function at the request that blocked');
    let later: KeptCpu | null = null;
    for (let tries = 0; tries < 10 && later === null; tries++) later = cpuOf(await send('/hash'));
    expect(later).to.have.nested.property('earlier.what', 'pbkdf2Sync in hash');
    expect(later).to.have.nested.property('earlier.profile', sampled?.token);
  });

  it('end with the request, or where the setting is off never begin', async () => {
    await start({ cpu: 'off' });
    expect(cpuOf(await send('/sum', HEADER))).to.equal(null);
    const { token } = await send('/quick');
    expect((await fetch(`${url}/_profiler/${token}.cpuprofile`)).status).to.equal(404);
    expect(await (await fetch(`${url}/_profiler/${token}?panel=cpu`)).text()).not.to.contain(
      'form class="ask',
    );
  });
});
