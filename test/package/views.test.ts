/** Every template compiles, and none lets a value through unescaped or carries inline code. */
import { expect } from 'chai';
import ejs from 'ejs';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

function templatesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ejs'))
    .map((name) => join(folder, name))
    .sort();
}

/** The markup of a template without its code. */
function withoutCode(text: string): string {
  return text.replace(/<%[\s\S]*?%>/g, '');
}

const templates = [...templatesBelow('views'), ...templatesBelow('examples')];

describe('templates', () => {
  it('are found', () => {
    expect(templates).to.have.length.above(10);
  });

  for (const path of templates) {
    it(`${path} compiles, escapes and holds no inline code`, () => {
      const text = readFileSync(path, 'utf8');
      expect(() => ejs.compile(text, { filename: path, views: ['views'] })).to.not.throw();
      const unescaped = text.match(/<%-(?!\s*include\()[\s\S]*?%>/g) ?? [];
      expect(unescaped, 'unescaped values').to.deep.equal([]);
      const inline =
        withoutCode(text).match(/\s(?:style|on[a-z]+)\s*=|<style\b|<script\b(?![^>]*\ssrc=)/gi) ?? [];
      expect(inline, 'inline style, script or handler').to.deep.equal([]);
    });
  }
});
