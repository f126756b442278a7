/** What names a release: the setting, the platform, a commit. */
import { expect } from 'chai';
import { platformRelease, releaseName } from '../../app/config/release.ts';
import { findRelease, readConfig } from '../../app/config.ts';

const COMMIT = '3f2a1b9c7d104e5f6a7b8c9d0e1f2a3b4c5d6e7f';

describe('the name of a release', () => {
  it('is the beginning of a commit, or the name as it is', () => {
    expect(releaseName(COMMIT)).to.equal('3f2a1b9c7d10');
    expect(releaseName(` ${COMMIT.toUpperCase()}\n`)).to.equal('3f2a1b9c7d10');
    for (const name of ['v41', '2026.11.25', 'registry.fly.io/shop:deployment-01', 'shop-00012-abc'])
      expect(releaseName(name)).to.equal(name);
  });

  it('is nothing else', () => {
    for (const text of ['', ' ', 'two words', '<script>', 'v1\nv2', 'x'.repeat(101), 'Größe'])
      expect(releaseName(text), text).to.equal(null);
  });

  it('comes from the platform, the commit first', () => {
    expect(platformRelease({})).to.equal(null);
    expect(platformRelease({ HEROKU_RELEASE_VERSION: 'v41' })).to.equal('v41');
    const heroku = { HEROKU_RELEASE_VERSION: 'v41', HEROKU_SLUG_COMMIT: COMMIT };
    expect(platformRelease(heroku)).to.equal('3f2a1b9c7d10');
    for (const name of [
      'HEROKU_BUILD_COMMIT',
      'RENDER_GIT_COMMIT',
      'VERCEL_GIT_COMMIT_SHA',
      'RAILWAY_GIT_COMMIT_SHA',
      'GITHUB_SHA',
      'CI_COMMIT_SHA',
      'SOURCE_VERSION',
    ])
      // prettier-ignore
      expect(platformRelease({ [name]: COMMIT }), name).to.equal('3f2a1b9c7d10');
    expect(platformRelease({ GITHUB_SHA: 'not a name', SOURCE_VERSION: COMMIT })).to.equal('3f2a1b9c7d10');
  });

  it('comes from the setting before all else, and an empty one turns it off', () => {
    const env = { GITHUB_SHA: COMMIT };
    expect(findRelease('v2', '/', env)).to.equal('v2');
    expect(findRelease('', '/', env)).to.equal(null);
    expect(findRelease(null, '/', env)).to.equal('3f2a1b9c7d10');
    expect(findRelease(null, '/', {})).to.equal(null);
    expect(readConfig({ PROFILER_RELEASE: COMMIT }).profiler.release).to.equal('3f2a1b9c7d10');
    expect(readConfig({ PROFILER_RELEASE: '' }).profiler.release).to.equal('');
    expect(readConfig({}).profiler.release).to.equal(null);
    expect(() => readConfig({ PROFILER_RELEASE: 'two words' })).to.throw(
      'PROFILER_RELEASE is "two words"; set up to 100 letters',
    );
  });
});
