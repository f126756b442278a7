/** The finding that a route became worse with the release that responded. */
import { expect } from 'chai';
import { load } from 'cheerio';
import { createMemoryStorage } from '../../app/index.ts';
import { AFTER, BEFORE, openReleasesHost, type ReleasesHost } from '../support/releases-host.ts';

// The request that is looked at counts as soon as it is stored.
const SENTENCE = new RegExp(
  `^This route gained 14 queries \\(median 3 before, 17 now\\) with release ${AFTER}; it was ${BEFORE} \\([67] requests, 6 before\\)$`,
);

describe('route-regression', () => {
  let host: ReleasesHost;
  before(async () => {
    host = await openReleasesHost();
  });
  after(() => host.close());

  it('says by how much, and since which release: page, short Markdown, JSON', async () => {
    const token = await host.request('/orders/7');
    const $ = load(await host.read(`/_profiler/${token}?panel=overview`));
    expect($('main').text().replace(/\s+/g, ' '))
      .to.contain('This route gained 14 queries')
      .and.not.contain('regression: in none');
    const short = await host.read(`/_profiler/${token}.md?length=short`);
    expect(short).to.contain('**regression** (warn)').and.contain(`release \`${AFTER}\``);
    const { profile } = JSON.parse(await host.read(`/_profiler/${token}.json`)) as {
      profile: { release: string; findings: { rule: string; sentence: string }[] };
    };
    expect(profile.release).to.equal(AFTER);
    expect(profile.findings.map(({ rule }) => rule)).to.deep.equal(['route-regression']);
    expect(profile.findings[0]?.sentence).to.match(SENTENCE);
  });

  it('says nothing of a route that is as it was', async () => {
    const token = await host.request('/fine');
    expect(await host.read(`/_profiler/${token}.md?length=short`)).to.contain('Nothing wrong was found.');
  });

  it('says nothing of a release that is not worse than the one before it', async () => {
    const other = await openReleasesHost({ release: 'v3' });
    try {
      const tokens: string[] = [];
      for (let count = 0; count < 4; count++) tokens.push(await other.request('/orders/7'));
      const text = await other.read(`/_profiler/${tokens.at(-1) ?? ''}.md?length=short`);
      expect(text).to.contain('Nothing wrong was found.').and.contain('release `v3`');
    } finally {
      await other.close();
    }
  });

  it('fails no page where the storage can’t sum up releases', async () => {
    const storage = createMemoryStorage();
    storage.summarizeReleases = () => {
      throw new Error('unknown here');
    };
    const other = await openReleasesHost({ storage });
    try {
      const token = await other.request('/orders/7');
      expect(await other.read(`/_profiler/${token}.md?length=short`)).to.contain('Nothing wrong was found.');
      expect((await fetch(`${other.url}/_profiler/${token}?panel=overview`)).status).to.equal(200);
    } finally {
      await other.close();
    }
  });

  it('is not made without a release', async () => {
    const other = await openReleasesHost({ release: '' });
    try {
      const token = await other.request('/orders/7');
      const text = await other.read(`/_profiler/${token}.md?length=short`);
      expect(text).to.contain('Nothing wrong was found.').and.not.contain('release');
    } finally {
      await other.close();
    }
  });
});
