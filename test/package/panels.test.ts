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
  'configuration', 'database', 'dump', 'exception', 'http_client', 'logs', 'migrations', 'request', 'routing', 'runtime',
  'security', 'timeline', 'views',
]; // prettier-ignore

/** A part of a panel in a file beside it: `database-page.ts` belongs to `database`. */
function isPart(name: string, panels: readonly string[]): boolean {
  return panels.some((panel) => name.startsWith(`${panel}-`));
}

describe('panels', () => {
  const code = namesIn('app/panels', '.ts').filter((name) => /^[a-z_]+$/.test(name));
  const views = namesIn('views/panels', '.ejs');
  const tests = namesIn('test/panels', '.test.ts');

  it('have a view for each', () => {
    expect(code).to.not.be.empty;
    expect(code.filter((name) => !views.includes(name))).to.deep.equal([]);
  });

  it('have a test for each', () => {
    expect(code.filter((name) => !tests.includes(name))).to.deep.equal([]);
  });

  it('have no view or test without a panel', () => {
    const strays = [...views, ...tests].filter((name) => !code.includes(name) && !isPart(name, code));
    expect(strays).to.deep.equal([]);
  });

  it('include those that the contract names', () => {
    expect(PROMISED.filter((name) => !code.includes(name))).to.deep.equal([]);
  });
});
