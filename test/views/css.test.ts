/** The style sheet names nothing that no page has: each class, id and custom property in it is used somewhere. */
import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const SOURCES = ['views', 'app/profiler/store/profile-index.ts', 'app/view-helpers', 'app/panels', 'app/controllers', 'app/middleware', 'public/profiler']; // prettier-ignore
const ENDINGS = /\.(?:ejs|ts|js|svg)$/;

function filesBelow(path: string): string[] {
  if (ENDINGS.test(path)) return [path];
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => ENDINGS.test(name))
    .map((name) => join(path, name));
}

function withoutComments(text: string): string {
  return text
    .replace(/<%#[\s\S]*?%>/g, '')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|\s)\/\/.*$/gm, '');
}

/** Texts in quotes, in code as in markup: what a class can be made of. */
const QUOTED = /"[^"]*"|'[^'\n]*'|`(?:[^`\\]|\\.)*`/g;

const texts = SOURCES.flatMap(filesBelow).map((file) => withoutComments(readFileSync(file, 'utf8')));

/** Words of the sources that may be names of classes. */
function wordsUsed(): Set<string> {
  const words = texts.flatMap((text) => {
    // An attribute may hold tags of EJS with quotes of their own.
    const quoted = [...(text.match(QUOTED) ?? []), ...(text.match(/\bclass="(?:[^"<]|<%[\s\S]*?%>)*"/g) ?? [])];
    return quoted.join('\n').match(/[A-Za-z][\w-]*/g) ?? [];
  });
  return new Set(words);
}

/** Beginnings of classes that are made at run time: of a letter and a figure, `s4`, or of a word and a kind, `k-db`. */
function beginnings(): string[] {
  const made = texts.flatMap((text) =>
    Array.from(text.matchAll(/(?<![\w-])([a-z]|[a-z]+-)(?:\$\{|<%=)/g), ([, start]) => start!),
  );
  return [...new Set(made)];
}

const css = withoutComments(readFileSync('public/profiler/hindsight.css', 'utf8'));
/** Without what stands in quotes and brackets, and without numbers. */
const selectors = css.replace(/"[^"]*"/g, '""').replace(/\d*\.\d+/g, '0').replace(/\[[^\]]*\]/g, ''); // prettier-ignore

function namesIn(pattern: RegExp): string[] {
  return [...new Set(Array.from(selectors.matchAll(pattern), ([, name]) => name!))].sort();
}

describe('the style sheet', () => {
  const used = wordsUsed();

  it('holds no class that nothing has', () => {
    const classes = namesIn(/\.([A-Za-z][\w-]*)/g);
    expect(classes).to.have.length.above(80);
    const starts = beginnings();
    const isMade = (name: string): boolean =>
      starts.some((start) => name.startsWith(start) && (start.endsWith('-') || /^\d$/.test(name.slice(1))));
    const dead = classes.filter((name) => !used.has(name) && !isMade(name));
    expect(dead).to.deep.equal([]);
  });

  it('holds no custom property that nothing reads, and reads none that it does not hold', () => {
    const held = new Set(Array.from(css.matchAll(/(--[\w-]+)\s*:/g), ([, name]) => name));
    const read = new Set(Array.from(css.matchAll(/var\((--[\w-]+)/g), ([, name]) => name));
    expect([...held].filter((name) => !read.has(name))).to.deep.equal([]);
    expect([...read].filter((name) => !held.has(name))).to.deep.equal([]);
  });

  it('writes each colour once, as a custom property', () => {
    const rules = css.slice(css.indexOf('ground'));
    const body = rules.replace(/:root[^{]*\{[^}]*\}/g, '');
    expect(body.match(/#[0-9a-f]{3,8}\b(?![^(]*\))/gi) ?? []).to.deep.equal([]);
  });
});
