import { expect } from 'chai';
import type { Kept } from '../../app/findings/shared/kept.ts';
import { cpuPanel } from '../../app/panels/cpu/index.ts';
import type { Context } from '../../app/profiler/record/context.ts';
import type { CpuSamples, KeptCpu, SampledFunction } from '../../app/profiler/record/cpu-samples.ts';
import { callTree, busiestFunctionIn } from '../../app/profiler/read/cpu-tree.ts';
import type { Profile, ProfileHead } from '../../app/profiler/profile.ts';
import type { Finding } from '../../app/profiler/read/finding.ts';
import { contextWith, dataOf, panelPage, summaryOf } from '../support/panel-data.ts';
import { draftsOf, ruleOf } from '../support/find-by-rule.ts';

function fn(name: string, given: Partial<SampledFunction> = {}): SampledFunction {
  return {
    name,
    url: 'file:///shop/src/rates.ts',
    line: 3,
    column: 9,
    kind: 'own',
    place: 'src/rates.ts:4',
    ...given,
  };
}

const FUNCTIONS = [
  fn('listener', { kind: 'node', of: 'node:_http_server', url: 'node:_http_server' }),
  fn('watch', { kind: 'profiler' }),
  fn('handle', { kind: 'package', of: 'express' }),
  fn('next', { kind: 'package', of: 'express' }),
  fn('listRates', { place: 'src/rates.ts:20', busiest: 'src/rates.ts:24' }),
  fn('loadRates', { place: 'src/rates.ts:4' }),
  fn('readFileSync', { kind: 'node', of: 'node:fs' }),
  fn('tryReadSync', { kind: 'node', of: 'node:fs' }),
  fn('(garbage collector)', { kind: 'node', url: '' }),
];

/** Parent, function, its own microseconds, line of the call. */
const NODES = [
  [-1, 0, 100, 0], [0, 1, 50, 0], [1, 2, 0, 0], [2, 3, 200, 0], [3, 4, 10_000, 0], [4, 5, 1000, 22], [5, 6, 4000, 6], [6, 7, 85_000, 0], [5, 8, 500, 0],
].flat(); // prettier-ignore

function samples(given: Partial<CpuSamples> = {}): CpuSamples {
  return {
    asked: 'header',
    everyUs: 1000,
    spanMs: 200,
    startingMs: 60,
    samples: 100,
    ownMs: 101,
    otherMs: 0,
    functions: FUNCTIONS,
    nodes: NODES,
    runsStartMs: -10,
    runs: [-1, 20_000, 4, 10_000, 7, 90_000, -1, 90_000],
    ...given,
  };
}

const contextOf = (cpu: KeptCpu): Context => contextWith((context) => context.add('cpu', cpu));
const pageOf = (cpu: KeptCpu) => panelPage(cpuPanel, contextOf(cpu));

describe('the panel of CPU profiles', () => {
  it('shows own code each, packages and Node by what was called in them, and nothing of the profiler', () => {
    const root = callTree(samples());
    const [express] = root.children;
    expect(express).to.include({ name: 'handle', selfUs: 200, totalUs: 100_700 });
    const [own] = express!.children;
    expect(own).to.include({ name: 'listRates', selfUs: 10_000 });
    const [loads] = own!.children;
    expect(loads).to.include({ name: 'loadRates', calledAt: 'src/rates.ts:22' });
    expect(loads!.children.map(({ name, totalUs }) => [name, totalUs])).to.deep.equal([
      ['readFileSync', 89_000],
      ['(garbage collector)', 500],
    ]);
    expect(root.totalUs).to.equal(100_850);
  });

  it('names which function ran, of the whole or in a part of the time', () => {
    expect(busiestFunctionIn(callTree(samples()))).to.deep.equal({
      what: 'readFileSync in loadRates',
      place: 'src/rates.ts:6',
    });
    expect(busiestFunctionIn(callTree(samples(), [10, 20]))).to.deep.equal({
      what: 'listRates',
      place: 'src/rates.ts:24',
    });
    expect(busiestFunctionIn(callTree(samples(), [110, 200]))).to.equal(null);
  });

  it('is summed up in the unit that the rest of the page has', () => {
    expect(summaryOf(cpuPanel, samples({ ownMs: 1388.2 }))?.text).to.equal('1.39 s');
    expect(summaryOf(cpuPanel, samples({ ownMs: 12.34 }))?.text).to.equal('12.3 ms');
  });

  it('has a flame graph, top functions, and synchronous calls with the line that calls', () => {
    const $ = pageOf(samples());
    expect($('.flame a').length).to.equal(5);
    expect($('.flame [style], .flame [onclick]').length).to.equal(0);
    const block = $('.flame a').filter(
      (_index, one) => $(one).attr('aria-label')?.startsWith('loadRates') === true,
    );
    expect(block.attr('href')).to.equal('#f2');
    expect(block.children('svg').attr('width')).to.equal('89.737%');
    expect(block.find('rect').attr('class')).to.equal('own');
    expect($('#f1').text())
      .to.contain('listRates')
      .and.contain('src/rates.ts:20')
      .and.contain('loadRates, 90.5 ms');
    expect($('#s1').text()).to.contain('readFileSync').and.contain('node:fs').and.contain('src/rates.ts:6');
    expect($('#tree').text()).to.contain('loadRates');
    expect($('a[download]').attr('href')).to.equal(
      '/_profiler/000000.cpuprofile'.replace('000000', '000001'),
    );
    expect($.text()).to.contain('No other request ran code in that time');
  });

  it('says what was cut, and what other requests did', () => {
    const text = pageOf(
      samples({ nodesLeft: 12, isThinned: true, isOverLimit: true, otherMs: 42.25 }),
    ).text();
    expect(text).to.contain('12 calls with little time').and.contain('merged to save space');
    expect(text)
      .to.contain('Sampling reached its limit')
      .and.contain('for 42.3 ms in that time, which is not included');
  });

  it('says why there is none, or which earlier request was sampled', () => {
    expect(pageOf({ skipped: 'Another request was being sampled.' }).text()).to.contain('being sampled');
    const earlier = { what: 'pbkdf2Sync in login', place: 'src/login.ts:9', profile: 'abcdef' };
    const $ = pageOf({ earlier });
    expect($.text()).to.contain('pbkdf2Sync in login').and.contain('src/login.ts:9');
    expect($('a[href="/_profiler/abcdef?panel=cpu"]').length).to.equal(1);
  });

  it('escapes the names of functions', () => {
    const hostile = '<img src=x onerror=alert(1)>"\'';
    const functions = Array.from({ length: 900 }, (_unused, index) =>
      fn(`${hostile}${index}`, { url: `file:///shop/${index}.js`, place: `src/${index}.ts:1` }),
    );
    const nodes = functions.flatMap((_one, index) => [index % 40 === 0 ? -1 : index - 1, index, 1000, 0]);
    const context = contextOf(samples({ functions, nodes, runs: [0, 1000] }));
    const $ = panelPage(cpuPanel, context);
    expect($('img').length).to.equal(0);
    expect($('.flame a').length).to.be.above(40);
    expect(dataOf(cpuPanel, context)).to.have.property('nodes').with.length(3600);
  });
});

describe('finding event-loop-blocked of a sampled request', () => {
  const runtime = { concurrent: 1, blocks: [{ startMs: 15, durationMs: 90, cpuMs: 88 }] };
  const head = { token: '000001', durationMs: 200, child: null } as ProfileHead;
  const find = (cpu: Kept['cpu']) => draftsOf('event-loop-blocked', { runtime, cpu }, head)[0];

  it('names the function with its place', () => {
    expect(find(samples())).to.deep.include({
      sentence: 'The event loop was blocked for 90.0 ms of 200.0 ms, in readFileSync in loadRates',
      place: 'src/rates.ts:6',
    });
  });

  it('names that of an earlier request as likely, and none without samples of the block', () => {
    const earlier = { what: 'scoreOf', place: 'src/score.ts:3', profile: 'abcdef' };
    expect(find({ earlier })?.sentence).to.match(/likely in scoreOf, as in the sampled request abcdef$/);
    expect(find(samples({ runs: [-1, 200_000] }))).to.equal(undefined);
  });

  it('names that of a later request, once one was sampled', () => {
    const finding = { ...find(samples())!, path: ['src/api.ts:8'] } as Finding;
    const sampled = { what: 'scoreOf', place: 'src/score.ts:3', profile: 'abcdef' };
    const { amend } = ruleOf('event-loop-blocked');
    const amended = amend!(finding, {} as Profile, { sampled });
    expect(amended.sentence).to.match(/; likely in scoreOf, as in the sampled request abcdef$/);
    expect(amended.place).to.equal('src/score.ts:3');
    expect(amended.path).to.equal(undefined);
    expect(amend!(finding, {} as Profile, {})).to.equal(finding);
  });
});
