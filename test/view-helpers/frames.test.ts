import { expect } from 'chai';
import type { ThrownFrame, ThrownLink } from '../../app/profiler/thrown.ts';
import { frameHelpers } from '../../app/view-helpers/frames.ts';

const { groupFrames, traceLines, rowsWithin, propertyRows, headline } = frameHelpers;

function frame(name: string, more: Partial<ThrownFrame> = {}): ThrownFrame {
  const nothing = { package: null, async: false, ranFrom: null, excerpt: null };
  return { function: name, file: `src/${name}.ts`, line: 1, column: 2, kind: 'own', ...nothing, ...more };
}

const vendor = (name: string, owner: string): ThrownFrame =>
  frame(name, { kind: 'vendor', package: owner, file: `node_modules/${owner}/${name}.js` });

function link(frames: ThrownFrame[], more: Partial<ThrownLink> = {}): ThrownLink {
  return {
    class: 'Error',
    isError: true,
    message: 'm',
    messageTruncated: 0,
    code: null,
    status: null,
    properties: {},
    frames,
    framesDropped: 0,
    errors: [],
    errorsDropped: 0,
    ...more,
  };
}

function titles(frames: ThrownFrame[], before: ThrownFrame[] | null = null): string[] {
  return groupFrames(link(frames), before === null ? null : link(before)).map((row) => {
    if (row.kind === 'own')
      return row.times === 1 ? (row.frame.function ?? '') : `${row.frame.function ?? ''} ×${row.times}`;
    return row.kind === 'awaited' ? 'awaited' : row.title;
  });
}

describe('frames of an error', () => {
  it('fold foreign ones and name their packages', () => {
    const frames = [
      frame('a'),
      vendor('x', 'express'),
      vendor('y', 'router'),
      vendor('z', 'express'),
      frame('b'),
      frame('n', { kind: 'node', file: 'node:net' }),
    ];
    expect(titles(frames)).to.deep.equal(['a', '3 frames in express and router', 'b', '1 frame in node']);
  });

  it('say where the code was awaited', () => {
    expect(titles([frame('a'), frame('b', { async: true }), frame('c', { async: true })])).to.deep.equal([
      'a',
      'awaited',
      'b',
      'awaited',
      'c',
    ]);
  });

  it('count a recursion', () => {
    expect(titles([frame('a'), frame('a'), frame('a'), frame('b')])).to.deep.equal(['a ×3', 'b']);
  });

  it('name the end they share with the error listed before', () => {
    const shared = [frame('c'), vendor('x', 'express'), frame('d')];
    expect(titles([frame('b'), ...shared], [frame('a'), ...shared])).to.deep.equal([
      'b',
      'the same 3 frames as above, from c on',
    ]);
  });

  it('are shown as long as there is room', () => {
    const rows = groupFrames(link(Array.from({ length: 30 }, (_value, index) => frame(`f${index}`))), null);
    expect(rowsWithin(rows, { frames: 10, characters: 0 })).to.equal(5);
    expect(rowsWithin(rows, { frames: 0, characters: 0 })).to.equal(0);
  });

  it('read like Node’s own trace, with causes and members', () => {
    const member = { chain: [link([frame('m')], { message: 'inner' })], chainEnd: 'root' as const };
    const native = frame('map', { kind: 'native', file: null, line: null, column: null });
    const chain = [
      link([frame('a', { async: true }), native], { errors: [member] }),
      link([], { class: 'TypeError' }),
    ];
    expect(traceLines({ chain, chainEnd: 'root' })).to.deep.equal([
      'Error: m',
      '    at async a (src/a.ts:1:2)',
      '    at map (native)',
      '    Error: inner',
      '        at m (src/m.ts:1:2)',
      '[cause]: TypeError: m',
    ]);
    expect(traceLines({ chain, chainEnd: 'root' }, 1)[2]).to.equal('    … 1 frame more');
  });
});

describe('properties of an error', () => {
  it('come with code and status, cut and counted where the page has no room', () => {
    const chain = [
      link([], { code: 'E', status: 404, properties: { long: 'x'.repeat(5000), next: null, last: 1 } }),
    ];
    const all = propertyRows(chain, { frames: 0, characters: 100_000 });
    expect(all.rows.map(({ name }) => name)).to.deep.equal(['code', 'status', 'long', 'next', 'last']);
    const some = propertyRows(chain, { frames: 0, characters: 2000 });
    expect(some.rows).to.have.length(3);
    expect(some.left).to.equal(2);
    expect(String(some.rows[2]?.value)).to.match(/more characters\)$/);
  });
});

describe('a headline', () => {
  it('is the first line, or the last where a template engine names the place first', () => {
    expect(headline('one\ntwo')).to.equal('one');
    expect(headline('/app/views/a.ejs:3\n    1| x\n >> 3| y\n\nuser is not defined\n')).to.equal(
      'user is not defined',
    );
    expect(headline('x'.repeat(1000))).to.have.length(301);
    expect(headline('')).to.equal('');
  });
});
