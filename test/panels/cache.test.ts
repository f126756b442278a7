import { expect } from 'chai';
import type { CacheFact } from '../../app/observe/databases/cache.ts';
import { timelinePanel } from '../../app/panels/timeline/index.ts';
import { cachePanel } from '../../app/panels/cache/index.ts';
import { Context } from '../../app/profiler/record/context.ts';
import { cacheCommand, lasting } from '../support/observed-samples.ts';
import { dataOf, panelPage, profileOf, summaryOf } from '../support/panel-data.ts';

function contextOf(...facts: Partial<CacheFact>[]): Context {
  const context = lasting(new Context({ token: '000001', kind: 'request' }), 20);
  facts.forEach((fact, index) => context.add('cache', cacheCommand({ startMs: index, ...fact })));
  return context;
}

const groupsOf = (...facts: Partial<CacheFact>[]) =>
  dataOf(cachePanel, contextOf(...facts))?.groups.map(({ kind, command, key, members }) => ({
    kind,
    text: `${command} ${key}`,
    members,
  }));

describe('the panel of caches', () => {
  it('counts commands, time and hits', () => {
    const data = dataOf(
      cachePanel,
      contextOf(
        { command: 'MGET', asked: 4, hits: 3 },
        { hits: 0 },
        { command: 'SET', asked: 0, hits: null },
        { error: 'ReplyError: WRONGTYPE', hits: null },
        { durationMs: null, hits: null },
      ),
    );
    expect(data?.totals).to.deep.equal({
      commands: 5,
      asked: 5,
      hits: 3,
      failed: 1,
    });
    expect(summaryOf(cachePanel, data!)).to.deep.equal({ text: '5', tone: 'warn', count: 5 });
  });

  it('groups reads in a loop, and reads of a key that was read before', () => {
    expect(groupsOf({ key: 'user:1' }, { key: 'user:27' }, { key: 'user:29' })).to.deep.equal([
      { kind: 'n+1', text: 'GET user:…', members: [0, 1, 2] },
    ]);
    expect(groupsOf({ caller: 'a.ts:1' }, { caller: 'b.ts:2' })).to.deep.equal([
      { kind: 'repeated', text: 'GET user:1', members: [0, 1] },
    ]);
  });

  it('leaves caches in the process out of groups, times and spans', () => {
    const memory = { system: 'memory', client: 'lru-cache', durationMs: 0 } as const;
    expect(groupsOf({ ...memory, key: 'a' }, { ...memory, key: 'b' }, { ...memory, key: 'c' }, memory, memory)).to.deep.equal([]); // prettier-ignore
    const shown = (...facts: Partial<CacheFact>[]): string[] => {
      const context = contextOf(...facts);
      const text = panelPage(cachePanel, context, [timelinePanel]).text();
      const profile = profileOf(context, [cachePanel]);
      const spans = cachePanel.recorded?.spans?.(dataOf(cachePanel, context)!, { profile, endMs: 20 }) ?? [];
      const labels = ['Cache commands', 'In the process', 'Time in Redis'].filter((one) =>
        text.includes(one),
      );
      return [...labels, `${spans.length} spans`];
    };
    expect(shown(memory)).to.deep.equal(['Cache commands', 'In the process', '0 spans']);
    expect(shown({}, memory)).to.deep.equal(['Cache commands', 'In the process', 'Time in Redis', '1 spans']);
    expect(shown({})).to.deep.equal(['Cache commands', 'Time in Redis', '1 spans']);
    expect(cachePanel.title).to.equal('Cache');
  });

  it('says who stored a value in the process, and masks what was changed in it', () => {
    const since = { by: 'a1b2c3', place: 'src/vip.ts:3', ms: 1200 };
    const text = panelPage(
      cachePanel,
      contextOf({
        system: 'memory',
        stored: { ...since, ms: 3000 },
        changed: {
          path: 'user.password',
          name: 'password',
          oldValue: 'hunter2',
          newValue: 'hunter3',
          since: { ...since, isRead: true, isSafe: true },
          isLoaded: true,
        },
      }),
    ).text();
    expect(text).to.include('request a1b2c3, 3.00 s before (src/vip.ts:3)');
    expect(text).to.include(
      'changed in the cache since request a1b2c3 read it 1.20 s before: user.password was',
    );
    expect(text).not.to.include('hunter');
  });

  it('groups neither what one pipeline sends, nor reads of other lines, nor a read after a write', () => {
    const batch = 'pipeline';
    expect(groupsOf({ key: 'a', batch }, { key: 'b', batch }, { key: 'c', batch })).to.deep.equal([]);
    expect(
      groupsOf({ key: 'a' }, { key: 'b', caller: 'b.ts:1' }, { key: 'c', caller: 'c.ts:1' }),
    ).to.deep.equal([]);
    expect(groupsOf({}, { command: 'DEL', asked: 0 }, {})).to.deep.equal([]);
  });

  it('masks a value by the key or field that it is written to', () => {
    const data = dataOf(
      cachePanel,
      contextOf(
        { command: 'SET', key: 'session-token:1', args: [{ name: 'session-token:1', value: 'abcdefgh' }] },
        { command: 'HSET', key: 'user:1', args: [{ name: 'password', value: 'hunter22' }, { name: 'city', value: 'Graz' }] }, // prettier-ignore
      ),
    );
    expect(data?.items.map(({ args }) => args.map(({ value }) => value))).to.deep.equal([
      ['[masked 1, string]'],
      ['[masked 2, string]', 'Graz'],
    ]);
  });

  it('shows totals, groups and each command, with ids for links', () => {
    const context = contextOf({ key: 'user:1' }, { key: 'user:2' }, { key: 'user:3', hits: 0 });
    const $ = panelPage(cachePanel, context);
    expect($('#r1').text()).to.contain('user:…').and.contain('N+1');
    for (const id of ['k1', 'k2', 'k3']) expect($(`#${id}`)).to.have.length(1);
    expect($('#k3').text()).to.contain('not found');
    expect($.text()).to.match(/Keys not found\D*1/);
  });

  it('has a place on the timeline for each command', () => {
    const context = contextOf({}, { durationMs: null });
    const profile = profileOf(context, [cachePanel]);
    const spans = cachePanel.recorded?.spans?.(dataOf(cachePanel, context)!, { profile, endMs: 20 });
    expect(spans?.map(({ label, startMs, durationMs }) => ({ label, startMs, durationMs }))).to.deep.equal([
      { label: 'GET user:1', startMs: 0, durationMs: 0.5 },
      { label: 'GET user:1', startMs: 1, durationMs: 19 },
    ]);
  });
});
