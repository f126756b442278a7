/** The README names every setting that is read, every script that it tells to run, and files that are there. */
import { expect } from 'chai';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readConfig } from '../../app/config.ts';

/** Names that `readConfig` asks the environment for. */
function settingsRead(): string[] {
  const names = new Set<string>();
  readConfig(
    new Proxy<Record<string, string | undefined>>(
      {},
      {
        get: (_target, name) => {
          names.add(String(name));
          return undefined;
        },
      },
    ),
  );
  return [...names];
}

/** Links of a page that lead to files of the repository. */
function linkedFiles(page: string): string[] {
  const links = readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#]+)/g);
  return Array.from(links, ([, target]) => join(dirname(page), target!));
}

describe('README.md', () => {
  const text = readFileSync('README.md', 'utf8');

  it('has a row for every setting', () => {
    /** The platform's own: told in the text, not set by the reader. */
    const ofThePlatform = ['NODE_ENV', 'DYNO'];
    const rows = text.split('\n').filter((line) => line.startsWith('| `'));
    const documented = rows.flatMap((row) => Array.from(row.matchAll(/`([A-Z_]{4,})`/g), ([, name]) => name));
    const missing = settingsRead().filter(
      (name) => !documented.includes(name) && !ofThePlatform.includes(name),
    );
    expect(settingsRead()).to.include('PORT');
    expect(missing).to.deep.equal([]);
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
