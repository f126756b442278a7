import { expect } from 'chai';
import { load } from 'cheerio';
import { timelineOf } from '../../app/panels/shared/timeline-data.ts';
import type { RuntimeData } from '../../app/panels/runtime/data.ts';
import { urls } from '../../app/urls.ts';
import { withFindingsApp } from '../support/findings-app.ts';
import { withQuietConsole } from '../support/quiet-console.ts';

/** Longer than rendering takes anywhere. */
const ERRORS = 3;

describe('work of Hindsight itself', () => {
  withQuietConsole();
  const ask = withFindingsApp((app) => {
    app.get('/boom', function boom() {
      throw new TypeError('The order has no lines');
    });
  });

  it('is a row of its own, and in no total, share or duration of the request', async () => {
    for (let time = 0; time < ERRORS; time++) {
      const startedMs = performance.now();
      const { profile, status } = await ask('/boom');
      const wallMs = performance.now() - startedMs;
      expect(status).to.equal(500);
      const timeline = timelineOf(profile)!;
      const [own] = (profile.panels.runtime?.data as RuntimeData).own ?? [];
      expect(own?.what).to.equal('error page');
      expect(own?.durationMs).to.be.above(0.5);
      // The client waited for the page; the request did not take as long.
      expect((profile.durationMs ?? 0) + (own?.durationMs ?? 0)).to.be.below(wallMs);
      const outside = timeline.spans.filter((span) => span.outside === true && span.kind === 'hindsight');
      expect(outside.map(({ label, startMs }) => [label, startMs])).to.deep.equal([
        ['Hindsight’s error page', timeline.totalMs],
      ]);
      expect(timeline.spans.map(({ label }) => label)).to.not.include('errorPage');
      expect(timeline.shares.map(({ kind }) => kind)).to.not.include('hindsight');
      const sum = timeline.shares.reduce((total, { ms }) => total + ms, 0);
      expect(sum).to.be.closeTo(profile.durationMs ?? 0, 0.05);
    }
  });

  it('marks the handler that threw, not the page that shows it', async () => {
    const { profile } = await ask('/boom');
    const $ = load(await ask.page(urls.profile(profile.token, 'overview')));
    const failed = $('.steps .is-bad').first();
    expect(failed.text()).to.contain('GET /boom').and.contain('threw');
    expect($('#time').text()).to.match(/Not part of its time: (.*, )?Hindsight’s error page \d/);
    const timeline = load(await ask.page(urls.profile(profile.token, 'timeline')));
    expect(timeline('#wf').text()).to.contain('threw').and.contain('not counted');
  });
});
