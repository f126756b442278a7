/** A panel is one name in three rooms; this notices when one of them is missing. */
import { expect } from 'chai';
import { readdirSync } from 'node:fs';

/** Names in a folder without ending; `index`, and folders of what only serves a panel, left out. */
function namesIn(folder: string, ending: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => entry.name.slice(0, -ending.length))
    .filter((name) => name !== 'index')
    .sort();
}

/** Panels of the contract; the list may grow, none of these may go. */
const PROMISED = [
  'configuration', 'database', 'dump', 'exception', 'http_client', 'logs', 'request', 'routing', 'runtime',
  'timeline', 'views',
]; // prettier-ignore

/** A part of a panel in a file beside it: `database-page` belongs to `database`. */
function isPart(name: string, panels: readonly string[]): boolean {
  return panels.some((panel) => name.startsWith(`${panel}-`));
}

/** Names of panels are words with `_`; their files may be written with `-`. */
function panelNames(files: readonly string[]): string[] {
  return files.map((name) => name.replaceAll('-', '_'));
}

describe('panels', () => {
  const files = readdirSync('app/panels', { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'shared')
    .map(({ name }) => name);
  const whole = (names: readonly string[]): string[] =>
    panelNames(names.filter((name) => !isPart(name, files)));
  const code = whole(files);
  const views = whole(namesIn('views/panels', '.ejs'));
  // A name with `-` tells of something that several panels share.
  const tests = whole(namesIn('test/panels', '.test.ts').filter((name) => !name.includes('-')));

  it('have a test for each', () => {
    expect(code).to.not.be.empty;
    expect(code.filter((name) => !tests.includes(name))).to.deep.equal([]);
  });

  it('have no view or test without a panel', () => {
    expect([...views, ...tests].filter((name) => !code.includes(name))).to.deep.equal([]);
  });

  it('include those that the contract names', () => {
    expect(PROMISED.filter((name) => !code.includes(name))).to.deep.equal([]);
  });
});
