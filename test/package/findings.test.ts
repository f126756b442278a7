/** Each rule needs a test, a page and a line in the index of pages, all under its name. */
import { expect } from 'chai';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createFindingRules } from '../../app/findings/index.ts';
import { createHostPanels } from '../../app/compose/create-panels.ts';
import { createSourceFiles } from '../../app/observe/source-files.ts';
import { createSourceMaps } from '../../app/observe/source-maps.ts';

function namesIn(folder: string, ending: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => entry.name.slice(0, -ending.length))
    .filter((name) => name !== 'index' && name !== 'README')
    .sort();
}

describe('rules of findings', () => {
  const rules = createFindingRules();
  const names = rules.map(({ name }) => name);
  const sorted = [...names].sort();

  it('stand in the list once', () => {
    expect(names).to.not.be.empty;
    expect(new Set(names).size).to.equal(names.length);
  });

  it('have a test and a page each, and the index names all of them', () => {
    expect(namesIn('test/findings', '.test.ts')).to.deep.equal(sorted);
    expect(namesIn('docs/findings', '.md')).to.deep.equal(sorted);
    const index = readFileSync('docs/findings/README.md', 'utf8');
    const listed = [...index.matchAll(/^\| \[([^\]]+)\]\(([^)]+)\.md\)/gm)];
    expect(listed.map(([, name]) => name).sort()).to.deep.equal(sorted);
    for (const [, name, file] of listed) expect(file).to.equal(name);
  });

  it('link to pages that are there', () => {
    for (const file of namesIn('docs/findings', '.md')) {
      const page = readFileSync(`docs/findings/${file}.md`, 'utf8');
      for (const [, link] of page.matchAll(/\]\(([^)#]+\.md)/g))
        expect(existsSync(join('docs/findings', link ?? '')), `${file} -> ${link}`).to.equal(true);
    }
  });

  for (const { name } of createFindingRules())
    it(`explain ${name}: why it is flagged, when it is wrong and how to fix it`, () => {
      const page = readFileSync(`docs/findings/${name}.md`, 'utf8');
      expect(page).to.match(new RegExp(`^# ${name}\n`));
      for (const title of ['Why it is flagged', 'When it is wrong', 'How to fix it'])
        expect(page).to.contain(`\n## ${title}\n`);
    });

  it('are written for a reader, and need panels that are there', () => {
    const files = createSourceFiles({ roots: [process.cwd()] });
    const panels = createHostPanels({
      root: process.cwd(),
      settings: {},
      databases: () => [],
      files,
      maps: createSourceMaps({ files }),
      process: 'web.1',
    }).map((panel) => panel.name);
    for (const { name, needs, labels, why, fix } of rules) {
      expect(name).to.match(/^[a-z0-9]+(-[a-z0-9]+)*$/);
      expect(needs, name).to.not.be.empty;
      expect(panels, name).to.include.members([...needs]);
      expect(labels, name).to.not.be.empty;
      for (const sentence of [why, fix]) expect(sentence, name).to.match(/^\p{Lu}.{20,240}\.$/su);
    }
  });
});
