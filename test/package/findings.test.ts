/** Each rule needs a section in docs/findings under its name. */
import { expect } from 'chai';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createFindingRules } from '../../app/findings/index.ts';
import { createHostPanels } from '../../app/compose/create-panels.ts';
import { createSourceFiles } from '../../app/observe/stacks/source-files.ts';
import { FOLDER, rulePages, withRuleTexts } from '../support/findings-docs.ts';
import { createValueFrames } from '../../app/observe/values/value-frames.ts';
import { createSourceMaps } from '../../app/observe/stacks/source-maps.ts';

describe('rules of findings', () => {
  const rules = createFindingRules();
  const names = rules.map(({ name }) => name);
  const sorted = [...names].sort();
  const files = [...rulePages().keys(), 'README.md'];

  it('stand in the list once', () => {
    expect(names).to.not.be.empty;
    expect(new Set(names).size).to.equal(names.length);
  });

  it('have a section each, with why and fix as the code says them', () => {
    expect([...rulePages().values()].flat().sort()).to.deep.equal(sorted);
    for (const file of files) {
      const page = readFileSync(join(FOLDER, file), 'utf8');
      expect(page, `${file}: npm run docs`).to.equal(withRuleTexts(page));
      for (const [, name] of page.matchAll(/^## ([a-z0-9-]+)$/gm)) {
        if (file === 'README.md') continue;
        const section = new RegExp(`^## ${name}\n([^]*?)(?=^## |(?![^]))`, 'm').exec(page)?.[1] ?? '';
        expect(section, name).to.contain(`<!-- ${name}: written by npm run docs -->`);
        expect(section, name).to.contain('**When it is wrong**');
      }
    }
  });

  it('link to sections that are there', () => {
    for (const file of files)
      for (const [, link = file, name] of readFileSync(join(FOLDER, file), 'utf8').matchAll(
        /\]\(([^)#:]+\.md)?(?:#([a-z0-9-]+))?\)/g,
      )) {
        expect(existsSync(join(FOLDER, link)), `${file} -> ${link}`).to.equal(true);
        const rules = rulePages().get(link);
        if (name !== undefined && rules !== undefined) expect(rules, `${file} -> ${link}`).to.include(name);
      }
  });

  it('are written for a reader, and need panels that are there', () => {
    const files = createSourceFiles({ roots: [process.cwd()] });
    const maps = createSourceMaps({ files });
    const panels = createHostPanels({
      root: process.cwd(),
      settings: {},
      databases: () => [],
      files,
      maps,
      values: createValueFrames({ root: process.cwd(), files, maps }),
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
