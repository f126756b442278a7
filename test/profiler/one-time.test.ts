/** Every figure of time, wherever it is shown, against the ledger of its request. */
import { expect } from 'chai';
import { type CheerioAPI, load } from 'cheerio';
import { readShown } from '../../app/controllers/profiler/profile-model.ts';
import { readShortMarkdown } from '../../app/controllers/profiler/short-markdown.ts';
import { type TimelineData, timelineOf } from '../../app/panels/shared/timeline-data.ts';
import type { Context } from '../../app/profiler/record/context.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import type { SpanKind } from '../../app/profiler/read/span.ts';
import type { Figure } from '../../app/profiler/read/rows.ts';
import { numberHelpers } from '../../app/view-helpers/numbers.ts';
import { everyPanel } from '../support/every-page.ts';
import {
  addBusyPage,
  addCrowd,
  cacheCommand,
  call,
  lasting,
  layer,
  query,
  reading,
  view,
} from '../support/observed-samples.ts';
import { usePages } from '../support/page-client.ts';
import { createPageFixture } from '../support/page-fixture.ts';

const HANDLER = layer({ name: 'show', kind: 'handler', pattern: '/orders', method: 'GET', startMs: 1, durationMs: 1, nextMs: null, outcome: 'running' }); // prettier-ignore

function request(ms: number, fill: (context: Context) => void): (context: Context) => void {
  return (context) => {
    lasting(context, ms);
    context.add('layer', HANDLER);
    fill(context);
  };
}

const quiet = { blocks: [], collections: [], concurrent: 1, loopUtilization: 0.1, cpuUserMs: 900 };

const CORPUS: Readonly<Record<string, (context: Context) => void>> = {
  'a busy page': addBusyPage,
  'a crowd of queries': (context) => {
    lasting(context, 900);
    addCrowd(context, { queries: 400, lines: 10 });
  },
  'a collection during a statement': request(340, (context) => {
    context.add('query', query({ startMs: 20, durationMs: 235, waitMs: 0 }));
    context.add('runtime', { read: () => reading({ ...quiet, collections: [{ startMs: 22, durationMs: 233, kind: 'major' }] }) }); // prettier-ignore
  }),
  'a loop that others blocked': request(300, (context) => {
    const by = { profile: 'abc123', what: 'GET /reports', where: 'report' };
    context.add('call', call({ startMs: 20, durationMs: 200 }));
    context.add('runtime', { read: () => reading({ ...quiet, concurrent: 2, blocks: [{ startMs: 30, durationMs: 180, by }] }) }); // prettier-ignore
  }),
  'parallel statements that wait for the pool and a lock': request(400, (context) => {
    const lockedBy = { what: 'POST /orders', place: null, table: 'orders', profile: 'abc123', waitedMs: 60 };
    for (const startMs of [120, 121, 122])
      context.add('query', query({ startMs, durationMs: 204, waitMs: 90, bindings: [startMs] }));
    context.add('query', query({ sql: 'update orders set a = 1', startMs: 330, durationMs: 65, waitMs: 0, lockedBy })); // prettier-ignore
  }),
  'a page that queries while it renders': request(200, (context) => {
    context.add('view', view({ startMs: 20, durationMs: 150 }));
    context.add('query', query({ startMs: 40, durationMs: 50, waitMs: 0 }));
  }),
  'a collection while a page renders': request(200, (context) => {
    context.add('view', view({ startMs: 20, durationMs: 150 }));
    context.add('runtime', { read: () => reading({ ...quiet, collections: [{ startMs: 40, durationMs: 30, kind: 'minor' }] }) }); // prettier-ignore
  }),
  'a command of Redis beside a statement': request(200, (context) => {
    context.add('query', query({ startMs: 20, durationMs: 50, waitMs: 0 }));
    context.add('cache', cacheCommand({ startMs: 20, durationMs: 90 }));
  }),
  'a timer that nothing explains': request(500, (context) => {
    context.add('runtime', { read: () => reading(quiet) });
  }),
};

/** Which figure shows the time of a kind. */
const FIGURES: readonly (readonly [panel: string, label: string, kind: SpanKind])[] = [
  ['database', 'Query time', 'db'],
  ['database', 'Waiting for a connection', 'connection'],
  ['http_client', 'Time in outgoing calls', 'out'],
  ['http_client', 'Waiting for a socket', 'socket'],
  ['views', 'Time in views', 'view'],
  ['cache', 'Time in Redis', 'cache'],
  ['runtime', 'Garbage collection', 'collection'],
];

describe('a figure of time', () => {
  const fixture = createPageFixture(everyPanel());
  const server = usePages(fixture);
  const { durationText } = numberHelpers;

  async function fetched(path: string): Promise<string> {
    const response = await fetch(`${server.address}/_profiler/${path}`);
    expect(response.status, path).to.equal(200);
    return response.text();
  }

  function legend($: CheerioAPI): string[] {
    return $('.legend > div:not(.l-log)')
      .toArray()
      .map(
        (item) => `${$(item).find('a').text()} ${$(item).find('dd.num').first().text().replace(/\s/g, ' ')}`,
      );
  }

  const sharesText = ({ shares }: TimelineData): string[] =>
    shares.map(({ label, ms }) => `${label} ${durationText(ms)}`);

  for (const [what, fill] of Object.entries(CORPUS))
    describe(`of ${what}`, () => {
      let profile: Profile;
      let time: TimelineData;
      const msOf = (kind: SpanKind): number => time.shares.find((share) => share.kind === kind)?.ms ?? 0;
      before(async () => {
        profile = await fixture.profileOf({ more: fill, response: { headersAtMs: null } });
        time = timelineOf(profile)!;
      });

      it('adds up to the request', () => {
        const sum = time.shares.reduce((total, { ms }) => total + ms, 0);
        expect(sum).to.be.closeTo(profile.durationMs!, 0.02);
        const slices = time.slices.reduce((total, { durationMs }) => total + durationMs, 0);
        expect(slices).to.be.closeTo(profile.durationMs!, 0.1);
        const own = time.spans.filter(({ depth }) => depth === 0).map(({ durationMs }) => durationMs);
        expect(own).to.deep.equal([time.totalMs]);
      });

      it('is the same on overview, timeline and toolbar', async () => {
        for (const panel of ['overview', 'timeline'])
          expect(legend(load(await fetched(`${profile.token}?panel=${panel}`))), panel).to.deep.equal(sharesText(time)); // prettier-ignore
        const { parts } = JSON.parse(await fetched(`${profile.token}/toolbar.json`)) as { parts: { kind: string; ms: number }[] }; // prettier-ignore
        expect(parts.map(({ kind, ms }) => [kind, ms])).to.deep.equal(
          time.shares.map(({ kind, ms }) => [kind, ms]),
        );
      });

      it('is the same in Markdown, for people and for agents', async () => {
        const { services } = fixture;
        const short = await readShortMarkdown(
          services,
          await readShown(services, { profile, amendments: {} }),
          { origin: null, longest: 100_000 },
        );
        for (const text of [
          await fetched(`${profile.token}.md?panel=overview`),
          await fetched(`${profile.token}.md?panel=timeline`),
          short,
        ])
          for (const { label, ms } of time.shares)
            expect(text).to.contain(`| ${durationText(ms)} | \`${label}\` |`);
      });

      it('is the same on the panel of its kind', async () => {
        for (const [panel, label, kind] of FIGURES) {
          if ((profile.panels[panel]?.data ?? null) === null) continue;
          const { figures } = JSON.parse(await fetched(`${profile.token}.json?panel=${panel}`)) as { figures: Figure[] }; // prettier-ignore
          expect(figures.find((figure) => figure.label === label)?.value, `${panel}: ${label}`).to.equal(
            msOf(kind),
          );
        }
      });

      it('is the sum of what its templates took for themselves', async () => {
        if ((profile.panels.views?.data ?? null) === null) return;
        const { sections } = JSON.parse(await fetched(`${profile.token}.json?panel=views`)) as { sections: { id: string; rows: { number: number }[] }[] }; // prettier-ignore
        const rows = sections.find(({ id }) => id === 'views')?.rows ?? [];
        expect(rows.reduce((sum, { number }) => sum + number, 0)).to.be.closeTo(msOf('view'), 0.01);
      });

      it('is the same in a comparison', async () => {
        const other = await fixture.profileOf({ more: request(10, () => undefined) });
        const { figures } = JSON.parse(await fetched(`compare.json?a=${profile.token}&b=${other.token}`)) as { figures: { label: string; a: number | null }[] }; // prettier-ignore
        for (const [panel, label, kind] of FIGURES)
          if ((profile.panels[panel]?.data ?? null) !== null && msOf(kind) > 0)
            expect(figures.find((figure) => figure.label === label)?.a, label).to.equal(msOf(kind));
      });

      it('is the same in findings, which claim no time of another owner', () => {
        const costOf = (rule: string): number | undefined =>
          profile.findings.find((one) => one.rule === rule)?.costMs;
        const connection = time.shares.find(({ kind }) => kind === 'connection');
        expect(costOf('garbage-collection') ?? msOf('collection')).to.equal(msOf('collection'));
        expect(costOf('pool-wait') ?? connection?.allMs).to.equal(connection?.allMs);
        expect(costOf('unrecorded-wait') ?? msOf('idle')).to.equal(msOf('idle'));
        for (const { rule, costMs = 0, sentence } of profile.findings)
          if (rule === 'slow-statement')
            expect(costMs, sentence).to.be.below(2 * (msOf('db') + msOf('lock')) + 0.1);
      });
    });

  it('says of how much it is part, when its rows take longer than it owns', async () => {
    const profile = await fixture.profileOf({ more: CORPUS['a command of Redis beside a statement'] });
    const figures = load(await fetched(`${profile.token}?panel=cache`))('.figures, .metrics').text();
    expect(figures.replace(/\s+/g, ' ')).to.contain('40.0 ms (of 90.0 ms; other work ran during the rest)');
  });

  it('is left out for agents where the request was short', async () => {
    const { services } = fixture;
    const shortOf = async (ms: number): Promise<string> => {
      const profile = await fixture.profileOf({ more: request(ms, () => undefined) });
      const shown = await readShown(services, { profile, amendments: {} });
      return readShortMarkdown(services, shown, { origin: null, longest: 100_000 });
    };
    expect(await shortOf(20)).not.to.contain('## Where the time went');
    expect(await shortOf(200)).to.contain('## Where the time went');
  });

  it('is said by the finding about its owner alone', async () => {
    const rules = async (what: string): Promise<(string | undefined)[]> =>
      (await fixture.profileOf({ more: CORPUS[what] })).findings.map(({ rule }) => rule);
    expect(await rules('a collection during a statement'))
      .to.include('garbage-collection')
      .and.not.include('slow-statement');
    expect(await rules('a loop that others blocked'))
      .to.include('event-loop-blocked')
      .and.not.include('slow-call');
  });
});
