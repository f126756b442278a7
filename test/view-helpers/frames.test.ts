import { expect } from 'chai';
import type { ThrownFrame, ThrownLink } from '../../app/profiler/record/thrown.ts';
import { frameHelpers } from '../../app/view-helpers/frames.ts';

const { groupFrames, traceLines, propertyRows, headline } = frameHelpers;

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
    errors: [],
    errorsDropped: 0,
    ...more,
  };
}

function titles(frames: ThrownFrame[], before: ThrownFrame[] = []): string[] {
  return groupFrames(frames, before).map((row) => {
    if (row.kind === 'own')
      return row.times === 1 ? (row.frame.function ?? '') : `${row.frame.function ?? ''} ×${row.times}`;
    return row.title;
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
  });
});

describe('properties of an error', () => {
  it('come with code and status, if it has them', () => {
    const properties = { next: null, last: 1 };
    const names = (chain: ThrownLink[]): string[] => propertyRows(chain).rows.map(({ name }) => name);
    const all = link([], { code: 'E', status: 404, properties });
    expect(names([all])).to.deep.equal(['code', 'status', 'next', 'last']);
    expect(names([link([], { properties })])).to.deep.equal(['next', 'last']);
    expect(names([link([], { properties }), all])[0]).to.equal('Error.next');
  });

  it('are the first 50, each at most 2,000 characters long', () => {
    const values = Object.fromEntries(
      Array.from({ length: 60 }, (_value, at) => [`p${at}`, 'x'.repeat(5000)]),
    );
    const { rows, left } = propertyRows([link([], { properties: values })]);
    expect([rows.length, left]).to.deep.equal([50, 10]);
    expect(String(rows[0]?.value)).to.match(/^x{1900,2000}.*more characters\)$/);
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
