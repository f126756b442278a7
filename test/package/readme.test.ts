/** The README has the table of settings, and names scripts and files that exist. */
import { expect } from 'chai';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { withSettingsTable } from '../support/settings-table.ts';

/** Links of a page that lead to files of the repository. */
function linkedFiles(page: string): string[] {
  const links = readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#]+)/g);
  return Array.from(links, ([, target]) => join(dirname(page), target!));
}

describe('README.md', () => {
  const text = readFileSync('README.md', 'utf8');

  it('has the table of settings as it is made from the code (npm run docs)', () => {
    expect(text).to.equal(withSettingsTable(text));
  });

  it('names scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts: Record<string, string>;
    };
    const told = Array.from(text.matchAll(/npm run ([a-z]+)/g), ([, name]) => name!);
    expect(told).to.not.be.empty;
    expect(told.filter((name) => !(name in scripts))).to.deep.equal([]);
  });

  for (const page of ['README.md', 'SECURITY.md', 'docs/architecture.md', 'docs/decisions/README.md']) {
    it(`${page} links to files that are there`, () => {
      const links = linkedFiles(page);
      expect(links).to.not.be.empty;
      expect(links.filter((path) => !existsSync(path))).to.deep.equal([]);
    });
  }
});
