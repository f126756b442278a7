/** A panel is one name in three rooms; this notices when one of them is missing. */
import { expect } from 'chai';
import { readdirSync } from 'node:fs';

/** Names in a folder without ending, `index` and helpers in folders of their own left out. */
function namesIn(folder: string, ending: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() || entry.name.endsWith(ending))
    .map((entry) => (entry.isDirectory() ? entry.name : entry.name.slice(0, -ending.length)))
    .filter((name) => name !== 'index' && name !== 'shared')
    .sort();
}

/** Panels of the contract; the list may grow, none of these may go. */
const PROMISED = [
  'configuration', 'database', 'dump', 'exception', 'http_client', 'logs', 'migrations', 'request', 'routing', 'runtime',
  'security', 'timeline', 'views',
]; // prettier-ignore

/** Files may be written with `-` where the name has `_`. */
function panelName(file: string): string {
  return file.replaceAll('-', '_');
}

describe('panels', () => {
  const code = namesIn('app/panels', '.ts').map(panelName);
  const views = namesIn('views/panels', '.ejs').map(panelName);
  const tests = namesIn('test/panels', '.test.ts').map(panelName);

  it('have a view for each', () => {
    expect(code).to.not.be.empty;
    expect(code.filter((name) => !views.includes(name))).to.deep.equal([]);
  });

  it('have a test for each', () => {
    expect(code.filter((name) => !tests.includes(name))).to.deep.equal([]);
  });

  it('have no view or test without a panel', () => {
    expect([...views, ...tests].filter((name) => !code.includes(name))).to.deep.equal([]);
  });

  it('include those that the contract names', () => {
    expect(PROMISED.filter((name) => !code.includes(name))).to.deep.equal([]);
  });
});
