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

describe('docs/agents.md', () => {
  it('has configurations that can be parsed, each of which starts the command or names the address', () => {
    const page = readFileSync('docs/agents.md', 'utf8');
    const inShell = Array.from(page.matchAll(/--add-mcp '(.*)'/g), ([, text]) => text!);
    const inFiles = Array.from(page.matchAll(/```json\n(.*?)```/gs), ([, text]) => text!);
    expect(inFiles.map((text) => Object.keys(JSON.parse(text) as object)).flat()).to.deep.equal([
      'mcpServers',
      'servers',
      'context_servers',
      'mcpServers',
    ]);
    for (const text of [...inShell, ...inFiles])
      expect(JSON.stringify(JSON.parse(text))).to.match(
        /"command":"npx","args":\["express-hindsight","mcp"\]|"serverUrl":"http:\/\/127\.0\.0\.1:3000\/_profiler\/mcp"/,
      );
  });
});

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
