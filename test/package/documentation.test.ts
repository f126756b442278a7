/** What the pages of documentation name is there: files, headings, settings, exports, addresses of the profiler, commands and their options. */
import { expect } from 'chai';
import { transform, type TransformFailure } from 'esbuild';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  hostSettings,
  profilerSettings,
  serviceSettings,
  type SettingsTable,
} from '../../app/config/settings.ts';
import { runProgram } from '../../app/cli/program.ts';
import { useRecordingHosts } from '../support/recording-host.ts';

const pages = ['.', 'docs', 'examples', 'bench'].filter(existsSync).flatMap((folder) =>
  readdirSync(folder, { recursive: folder === 'docs', encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
);
const textOf = (page: string): string => readFileSync(page, 'utf8');
const withoutCode = (text: string): string => text.replace(/^ *```[\s\S]*?^ *```/gm, '');
const matches = (text: string, pattern: RegExp): string[] =>
  Array.from(text.matchAll(pattern), ([, found]) => found ?? '');

/** Anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): Set<string> {
  const titles = matches(withoutCode(textOf(page)), /^#{1,6} (.*)$/gm);
  return new Set(
    titles.map((title) =>
      title
        .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

function isBroken(page: string, link: string): boolean {
  const [file = '', anchor] = link.split('#');
  const target = file === '' ? page : join(dirname(page), file);
  if (!existsSync(target)) return true;
  return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).has(anchor);
}

/** Habits of earlier texts, each with the plain English for it (the voice of the docs). */
const HABITS: readonly [RegExp, string][] = [
  [/\bwhat\b(?! to\b| is wrong\b)/i, 'name the thing'],
  [/^Where\b|\b(?:off|on|only|even) where\b/, 'if, when'],
  [/\bkept\b/i, 'stored'],
  [/\bleft (?:out|alone|behind)\b/i, 'not shown, not changed'],
  [/\b(?:of|to|from|by|on|for) which\b/i, 'a sentence of its own'],
  [/\b(?:no|some)body\b|\blest\b|\bbeyond\b/i, 'you, no user; so that; past'],
  [/\b(?:tests?|pages?|rules?|tools?|panels?|finding|profiler|toolbar|lists?|bar) (?:says?|asks?|knows?|tells?)\b/i, 'shows, checks'],
  [/, (?:too|either|alone)(?=[.;:,]|$)/, 'also, as well, only'],
]; // prettier-ignore
/** A direct question, the label of a table, and the name of a page. */
const PLAIN = /^#* *(?:what (?:you can do with it|it does)|.*\bvalues where it failed\b.*)$/i;
const LONGEST = 25;

/** Sentences of a page's prose: headings, paragraphs and the cells of its tables, without code, as words. */
function sentencesOf(page: string): string[] {
  const prose = withoutCode(textOf(page))
    .replace(/<!--[^]*?-->/g, '\n\n')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/`[^`]*`/g, 'code')
    .replace(
      /^#+ .*$|^ *(?:[-*]|\d+\.) |^ *> ?|\|/gm,
      (found) => `\n\n${found.startsWith('#') ? found : ''}\n\n`,
    );
  return prose
    .split(/\n\s*\n|(?<=[.!?:])[*_)]*\s/)
    .map((sentence) => sentence.replace(/\s+/g, ' ').trim())
    .filter((sentence) => sentence !== '');
}

/** Right in an excerpt: the same code before and after, the inside of a function. */
const EXCERPT = /has already been declared|Top-level return/;

describe('the documentation', () => {
  const start = useRecordingHosts();

  it('has links only to files and headings that exist', () => {
    const broken = pages.flatMap((page) =>
      matches(withoutCode(textOf(page)), /\]\((?!https?:)([^)\s]+)\)/g)
        .filter((link) => isBroken(page, link))
        .map((link) => `${page}: ${link}`),
    );
    expect(pages).to.include.members(['README.md', 'docs/guides/toolbar.md']);
    expect(broken).to.deep.equal([]);
  });

  it('is written in plain English', () => {
    const written = pages.filter(
      (page) => /^(?:README|CONTRIBUTING|SECURITY|CHANGELOG)|^docs/.test(page) && !page.includes('decisions'),
    );
    const found = written.flatMap((page) =>
      sentencesOf(page)
        .filter((sentence) => !PLAIN.test(sentence))
        .flatMap((sentence) =>
          HABITS.filter(([habit]) => habit.test(sentence)).map(
            ([, better]) => `${page}: ${sentence} (${better})`,
          ),
        ),
    );
    const guides = written.filter((page) => /^(?:README|docs.guides.|docs.getting-started)/.test(page));
    const long = guides.flatMap((page) =>
      sentencesOf(page)
        .filter((sentence) => sentence.split(' ').length > LONGEST)
        .map((sentence) => `${page}: ${sentence}`),
    );
    expect(guides).to.have.length.greaterThan(8);
    expect(found.join('\n')).to.equal('');
    expect(long.join('\n')).to.equal('');
  });

  it('names only settings that exist', () => {
    const tables: SettingsTable[] = [serviceSettings, profilerSettings, hostSettings];
    const known = new Set(tables.flatMap((table) => Object.values(table).map(({ name }) => name)));
    known.add('PROFILER_URL'); // Of the command line.
    // The changelog names those that are gone, too.
    const current = pages.filter((page) => page !== 'CHANGELOG.md');
    const unknown = current.flatMap((page) =>
      matches(textOf(page), /\b(PROFILER_[A-Z_]*[A-Z])\b/g)
        .filter((name) => !known.has(name))
        .map((name) => `${page}: ${name}`),
    );
    expect(unknown).to.deep.equal([]);
  });

  it('names only addresses that respond', async () => {
    const host = await start();
    const tokens = [await host.send('/fine'), await host.send('/broken')];
    const named = new Set(
      pages.flatMap((page) => matches(textOf(page), /(\/_profiler\/[^\s`'")|\\…,;*]*)/g)),
    );
    const missing: string[] = [];
    for (const address of named) {
      let at = 0;
      const path = address.replace(/<\w+>/g, () => tokens[at++ % 2] ?? '').replace(/[.:>]+$/, '');
      const response = await fetch(new URL(path, host.url), { redirect: 'manual' });
      void response.body?.cancel();
      // Only a sampled request has a CPU profile, and only one that sent a mail has that.
      if (response.status === 404 && !/\.cpuprofile$|\/mail\/m1$/.test(path))
        missing.push(`${address}: ${path}`);
    }
    expect(named.size).to.be.greaterThan(20);
    expect(missing).to.deep.equal([]);
  });

  it('has code that can be read, and imports and calls only what the package exports', async () => {
    const doors: Record<string, object> = {
      'express-hindsight': await import('../../app/index.ts'),
      'express-hindsight/testing': await import('../../app/testing.ts'),
      'express-hindsight/service': await import('../../app/service.ts'),
    };
    const { profiler } = await start();
    const wrong: string[] = [];
    for (const page of pages) {
      for (const code of matches(textOf(page), /^ *```(?:ts|js)\n([\s\S]*?)^ *```/gm))
        await transform(code, { loader: 'ts', logLevel: 'silent' }).catch((error: unknown) =>
          wrong.push(
            ...(error as TransformFailure).errors
              .map(({ text }) => `${page}: ${text}`)
              .filter((text) => !EXCERPT.test(text)),
          ),
        );
      const imports = textOf(page).matchAll(
        /import (?!type)(?:\w+, )?\{([^}]*)\} from '(express-hindsight[\w/]*)'/g,
      );
      for (const [, names = '', door = ''] of imports)
        for (const name of names.split(',').map((part) => part.trim()))
          if (!/^(type |$)/.test(name) && !(name in (doors[door] ?? {})))
            wrong.push(`${page}: ${name} of ${door}`);
      for (const name of matches(textOf(page), /\bprofiler\.(\w+)(?=[()`\s,;])/g))
        if (name !== 'ts' && !(name in profiler)) wrong.push(`${page}: profiler.${name}`);
    }
    expect(wrong).to.deep.equal([]);
  });

  it('names only commands and options that the command line has', async () => {
    /** What `--help` prints. */
    async function help(...command: string[]): Promise<string> {
      let printed = '';
      const screen = { write: (text: string) => void (printed += text), colours: false, columns: 200 };
      const unused = (): never => expect.fail('help needs none of this');
      await runProgram([...command, '--help'], {
        env: {}, screen, stdin: process.stdin, stdout: process.stdout, version: '', note: unused, confirm: unused, openDatabase: unused, openFiles: unused, storedProjects: unused, register: '',
      }); // prettier-ignore
      return printed;
    }
    const whole = await help();
    const wrong: string[] = [];
    const known = new Map<string, string>();
    for (const page of pages)
      for (const line of matches(textOf(page), /npx express-hindsight (.+)$/gm)) {
        const [name = ''] = line.split(/[ `#;|]/);
        if (!/^[a-z]+$/.test(name)) continue;
        if (!known.has(name)) known.set(name, whole.includes(`  ${name} `) ? whole + (await help(name)) : '');
        const told = line.split(/`|#/)[0]?.match(/--[a-z-]+/g) ?? [];
        const text = known.get(name) ?? '';
        if (text === '' || told.some((option) => !text.includes(option))) wrong.push(`${page}: ${line}`);
      }
    expect(known.size).to.be.greaterThan(5);
    expect(wrong).to.deep.equal([]);
  });
});
