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

  it('compile, escape and hold no inline code', () => {
    for (const path of templates) {
      const text = readFileSync(path, 'utf8');
      expect(() => ejs.compile(text, { filename: path, views: ['views'] }), path).to.not.throw();
      const unescaped = text.match(/<%-(?!\s*(?:include|later)\()[\s\S]*?%>/g) ?? [];
      expect(unescaped, `${path}: unescaped values`).to.deep.equal([]);
      const inline =
        withoutCode(text).match(/\s(?:style|on[a-z]+)\s*=|<style\b|<script\b(?![^>]*\ssrc=)/gi) ?? [];
      expect(inline, `${path}: inline style, script or handler`).to.deep.equal([]);
    }
  });
});
