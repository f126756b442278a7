/** How often a finding was seen on its route, and whether it is gone. */
import { expect } from 'chai';
import { load } from 'cheerio';
import { historyOf } from '../../../app/controllers/profiler/finding-history.ts';
import type { ProfileIndex } from '../../../app/profiler/store/profile-index.ts';
import { historyHelpers } from '../../../app/view-helpers/history.ts';
import { profileIndex } from '../../support/profile-index.ts';
import { type RecordingHost, startRecordingHost } from '../../support/recording-host.ts';

const AT = Date.parse('2026-11-20T22:27:00Z');
const BAD = { label: 'N+1', severity: 'bad' as const };

/** Oldest first, a minute apart: `x` has the finding, `.` has none, `?` has so many that it may. */
function rows(pattern: string, releases = ''): ProfileIndex[] {
  const full = ['a', 'b', 'c'].map((label) => ({ label, severity: 'bad' as const }));
  return Array.from(pattern, (mark, index) =>
    profileIndex({
      startedAt: AT + index * 60_000,
      release: releases[index] ?? null,
      marks: mark === 'x' ? [BAD] : mark === '?' ? full : [],
    }),
  ).reverse();
}

function text(pattern: string, releases?: string): string | null {
  const history = historyOf('N+1', rows(pattern, releases));
  return history === null ? null : historyHelpers.historyText('N+1', history).replaceAll('20 Nov, ', '');
}

describe('the history of a finding on its route', () => {
  it('says how often, since when, and what is without it', () => {
    expect(text('xxxxx')).to.equal('“N+1” in all of the last 5 requests to this route, since 22:27:00 UTC.');
    expect(text('x.x.x')).to.equal('“N+1” in 3 of the last 5 requests to this route, since 22:27:00 UTC.');
    expect(text('....x')).to.equal(
      '“N+1” in 1 of the last 5 requests to this route, at 22:31:00 UTC; not in the 4 before.',
    );
    expect(text('xxxx.', 'aaaab')).to.equal(
      '“N+1” in 4 of the last 5 requests to this route, from 22:27:00 UTC to 22:30:00 UTC; not in the one since (release b).',
    );
    expect(text('...xx', 'aaabb')).to.match(/since 22:30:00 UTC; not in the 3 before \(release a\)\.$/);
    expect(text('.....')).to.equal('“N+1” is not in the last 5 requests to this route.');
  });

  it('says nothing of a few requests, nor of those whose list of findings was cut', () => {
    expect(text('...x')).to.equal(null);
    expect(text('?...x')).to.equal(null);
    expect(text('?...x.')).to.match(/^“N\+1” in 1 of the last 5 requests/);
    // Several releases without it are none that it is gone with.
    expect(text('xxx..', 'aaabc')).to.match(/not in the 2 since\.$/);
  });

  describe('of recorded requests', () => {
    let host: RecordingHost;
    before(async () => {
      host = await startRecordingHost();
    });
    after(() => host.close());

    it('stands on the card, in Markdown and in JSON', async () => {
      const first = await host.send('/broken');
      for (let i = 0; i < 3; i++) await host.send('/broken');
      const token = await host.send('/broken');
      const get = async (path: string): Promise<string> =>
        (await fetch(`${host.url}/_profiler/${path}`)).text();
      const $ = load(await get(`${first}?panel=overview`));
      const said = $('.fi .note, .findings .say').first();
      expect(said.text()).to.match(/^“.+” in all of the last 5 requests to this route, since /);
      expect(said.find('time')).to.have.length(1);
      const { profile } = JSON.parse(await get(`${token}.json`)) as {
        profile: { findings: { history?: { of: number; seen: number } }[] };
      };
      expect(profile.findings[0]!.history).to.include({ of: 5, seen: 5 });
      for (const path of [`${token}.md`, `${token}.md?length=short`, `${token}.md?panel=overview`])
        expect(await get(path), path).to.match(/in all of the last 5 requests to this route, since .* UTC\./);
    });
  });
});
