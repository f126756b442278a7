import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { createPlaceExcerpts } from '../../app/observe/stacks/place-excerpts.ts';
import { createSourceFiles } from '../../app/observe/stacks/source-files.ts';
import { createSourceMaps } from '../../app/observe/stacks/source-maps.ts';
import { freshFolder } from '../support/fresh-folder.ts';

const LINES = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight'];

describe('source round a place in own code', () => {
  let root: string;

  before(() => {
    root = freshFolder();
    mkdirSync(join(root, 'src'));
    mkdirSync(join(root, 'node_modules/library'), { recursive: true });
    for (const file of ['src/a.ts', 'node_modules/library/a.js', 'secret.env', '.hidden.ts'])
      writeFileSync(join(root, file), LINES.join('\n'));
  });

  function excerpts(): (place: string) => { from: number; lines: string[] } | null {
    const files = createSourceFiles({ roots: [root] });
    return createPlaceExcerpts({ root, files, maps: createSourceMaps({ files }) });
  }

  it('is the line with those near it', () => {
    const at = excerpts();
    expect(at('src/a.ts:5')).to.deep.equal({ from: 2, lines: LINES.slice(1, 7) });
    expect(at('src/a.ts:1')).to.deep.equal({ from: 1, lines: LINES.slice(0, 3) });
    expect(at('src/a.ts:8')).to.deep.equal({ from: 5, lines: LINES.slice(4) });
  });

  it('is that of the map that has it, whatever else other maps name', () => {
    const map = (sources: string[]): string => {
      const text = JSON.stringify({ mappings: 'AAAA', sources, sourcesContent: sources.map(() => 'mapped') });
      return `a();\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(text).toString('base64')}`;
    };
    writeFileSync(join(root, 'foreign.js'), map(['file://share/x.ts', 'file:///a%2Fb.ts']));
    writeFileSync(join(root, 'own.js'), map(['src/own.ts']));
    const files = createSourceFiles({ roots: [root] });
    const maps = createSourceMaps({ files });
    for (const file of ['foreign.js', 'own.js']) maps.original(join(root, file), 1, 1);
    const at = createPlaceExcerpts({ root, files, maps });
    expect(at('src/own.ts:1')).to.deep.equal({ from: 1, lines: ['mapped'] });
    expect(at('src/a.ts:1')?.lines[0]).to.equal('one');
  });

  it('is none for what is no own code, lies elsewhere, or is not there', () => {
    const at = excerpts();
    for (const place of [
      'node_modules/library/a.js:2',
      'secret.env:1',
      '.hidden.ts:1',
      '../other.ts:1',
      join(root, 'src/a.ts:2'),
      'src/a.ts:9',
      'src/a.ts:0',
      'src/a.ts',
      'src/b.ts:1',
      'src/a.ts\0:1',
      '',
    ])
      expect(at(place), place).to.equal(null);
  });

  for (const folder of ['dist', '.next'])
    it(`is what a file of ${folder} was built of, where its map brings that along`, () => {
      const map = { version: 3, sources: ['../src/gone.ts'], sourcesContent: ['const built = 1;\nquery();'], names: [], mappings: 'AAAA;AACA' }; // prettier-ignore
      const url = `data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`;
      mkdirSync(join(root, folder));
      writeFileSync(
        join(root, folder, 'gone.js'),
        `const built = 1;\nquery();\n//# sourceMappingURL=${url}\n`,
      );
      const files = createSourceFiles({ roots: [root] });
      const maps = createSourceMaps({ files });
      const at = createPlaceExcerpts({ root, files, maps });
      expect(maps.original(join(root, folder, 'gone.js'), 2, 1)).to.include({
        file: join(root, 'src/gone.ts'),
        line: 2,
      });
      expect(at('src/gone.ts:2')).to.deep.equal({ from: 1, lines: ['const built = 1;', 'query();'] });
    });
});
