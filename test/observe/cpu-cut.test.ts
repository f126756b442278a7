import { expect } from 'chai';
import type { Profiler } from 'node:inspector';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';
import { cutProfile } from '../../app/observe/cpu/cpu-cut.ts';
import { createCpuSampler } from '../../app/observe/cpu/cpu.ts';
import { createSourceFiles } from '../../app/observe/stacks/source-files.ts';
import { createSourceMaps } from '../../app/observe/stacks/source-maps.ts';
import { until } from '../support/waiting.ts';

function node(id: number, functionName: string, children: number[] = []): Profiler.ProfileNode {
  return {
    id,
    callFrame: {
      functionName,
      scriptId: '1',
      url: `file:///shop/${functionName}.js`,
      lineNumber: 0,
      columnNumber: 0,
    },
    children,
  };
}

/** Samples each millisecond from 1,000 µs on. */
function profile(nodes: Profiler.ProfileNode[], samples: number[]): Profiler.Profile {
  return {
    nodes,
    startTime: 0,
    endTime: (samples.length + 1) * 1000,
    samples,
    timeDeltas: samples.map(() => 1000),
  };
}

describe('the samples of one request', () => {
  const nodes = [node(1, '(root)', [2, 4]), node(2, 'outer', [3]), node(3, 'inner'), node(4, 'other')];

  it('are those in its own slices; the rest is other work', () => {
    const { nodes: cut, runs, samples } = cutProfile(profile(nodes, [2, 3, 3, 4, 3]), [1500, 3500]);
    expect(samples).to.equal(2);
    expect(
      cut.map(({ parent, callFrame, selfUs }) => [callFrame.functionName, parent, selfUs]),
    ).to.deep.equal([
      ['outer', -1, 0],
      ['inner', 0, 2000],
    ]);
    // The time before the first sample belongs to nobody.
    expect(runs).to.deep.equal([
      [-1, 2000],
      [1, 2000],
      [-1, 2000],
    ]);
  });

  it('are bounded: small calls are added to their callers, short runs joined', () => {
    const many = Array.from({ length: 500 }, (_unused, index) => node(index + 3, `f${index}`));
    const root = [node(1, '(root)', [2]), node(2, 'outer', many.map(({ id }) => id)), ...many]; // prettier-ignore
    const samples = many.flatMap(({ id }) => (id === 3 ? [3, 3, 3] : [id]));
    const cut = cutProfile(profile(root, samples), [0, 1e9], { nodes: 10, runs: 100 });
    expect(cut.nodes).to.have.length(10);
    expect(cut.nodesLeft).to.equal(491);
    expect(cut.nodes[1]?.callFrame.functionName).to.equal('f0');
    expect(cut.nodes.reduce((sum, { selfUs }) => sum + selfUs, 0)).to.equal(samples.length * 1000);
    expect(cut.isThinned).to.equal(true);
    expect(cut.runs.length).to.be.at.most(100);
    expect(cut.runs.reduce((sum, [, us]) => sum + us, 0)).to.equal((samples.length + 1) * 1000);
  });

  it('end at the limit of time, although the request goes on', async () => {
    const tracker = new ContextTracker();
    const files = createSourceFiles({ roots: [process.cwd()] });
    const maps = createSourceMaps({ files });
    const sampler = createCpuSampler({ tracker, root: process.cwd(), files, maps, mode: 'ask', limitMs: 30 });
    const context = sampler.begin('form', () => new Context({ token: '000001', kind: 'request' }));
    sampler.run(context, () => {
      const end = performance.now() + 20;
      while (performance.now() < end);
    });
    await until(() => Promise.resolve(context.first('cpu') !== undefined), 'the end of sampling');
    expect(context.first('cpu')).to.have.property('isOverLimit', true);
    expect(context.ended).to.equal(false);
    sampler.close();
  });
});
