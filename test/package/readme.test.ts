/** The README names scripts that exist, docs/configuration.md has the table of settings, and docs/guides/agents.md has configurations that can be parsed. */
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { withSettingsTable } from '../support/settings-table.ts';

describe('docs/guides/agents.md', () => {
  it('has configurations that can be parsed, each of which starts the command or names the address', () => {
    const page = readFileSync('docs/guides/agents.md', 'utf8');
    const inShell = Array.from(page.matchAll(/--add-mcp '(.*)'/g), ([, text]) => text!);
    const inFiles = Array.from(page.matchAll(/```json\n(.*?)```/gs), ([, text]) => text!);
    expect(inFiles.map((text) => Object.keys(JSON.parse(text) as object)).flat()).to.deep.equal([
      'context_servers',
      'mcpServers',
    ]);
    for (const text of [...inShell, ...inFiles])
      expect(JSON.stringify(JSON.parse(text))).to.match(
        /"command":"npx","args":\["express-hindsight","mcp"\]|"serverUrl":"http:\/\/127\.0\.0\.1:3000\/_profiler\/mcp"/,
      );
  });
});

describe('docs/configuration.md', () => {
  it('has the table of settings as it is made from the code (npm run docs)', () => {
    const text = readFileSync('docs/configuration.md', 'utf8');
    expect(text).to.equal(withSettingsTable(text));
  });
});

describe('README.md', () => {
  const text = readFileSync('README.md', 'utf8');

  it('names scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts: Record<string, string>;
    };
    const told = Array.from(text.matchAll(/npm run ([a-z]+)/g), ([, name]) => name!);
    expect(told).to.not.be.empty;
    expect(told.filter((name) => !(name in scripts))).to.deep.equal([]);
  });
});
