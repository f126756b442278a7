/** Compares two profiles, as page, JSON or Markdown. Without two tokens the page is a form for them. */
import { createError } from '../../../errors.ts';
import { dataOf } from '../../../panels/shared/panel-data.ts';
import { TOKEN_PATTERN, urls } from '../../../urls.ts';
import { rowsPage } from '../../../render/rows-page.ts';
import { SPAN_KINDS } from '../../../profiler/read/span.ts';
import type { Profile } from '../../../profiler/profile.ts';
import type { ProfileIndex } from '../../../profiler/store/profile-index.ts';
import type { FoundProfile } from '../../../profiler/read/profiles.ts';
import { compareMarkdown, comparisonSections } from './compare-rows.ts';
import { compareProfiles, findingChanges, verdictOf } from './compare-profiles.ts';
import { cpuFormOf } from '../cpu-form.ts';
import { badFilter, isFilterError, readOne } from '../list/filters.ts';
import { summarizeComparison } from './compare-summary.ts';
import { repetitionOf } from '../replay/replay-profile.ts';
import { createAnswers, type Forms, jsonForm } from '../respond.ts';
import type { PageRequest, PageServices } from '../page-services.ts';

interface CompareQuery {
  a: string | null;
  b: string | null;
  newest: boolean;
  all: boolean;
  boxes: number;
}

const LONGEST_BOX = 2000;

const NEWEST = 'newest';

function checked(name: string, value: string): string | null {
  const typed = value.trim();
  if (typed === '') return null;
  const token = typed.toLowerCase();
  if (!TOKEN_PATTERN.test(token))
    throw badFilter(name, `is "${typed}"; give a token of six hexadecimal digits`);
  return token;
}

function readCompareQuery(query: URLSearchParams): CompareQuery {
  const ticked = query.getAll('t').map((box) => checked('t', box.slice(0, LONGEST_BOX)));
  const [one = null, other = null] = ticked;
  const boxes = ticked.length;
  const a = checked('a', readOne(query, 'a') ?? '');
  const second = readOne(query, 'b') ?? '';
  const newest = second === NEWEST;
  const b = newest ? null : checked('b', second);
  const all = readOne(query, 'all') === '1';
  if (one === null && other === null) return { a, b, newest, all, boxes };
  if (a !== null || second !== '') throw badFilter('t', 'can’t be combined with "a" or "b"; give one pair');
  return { a: one ?? other, b: one === null ? null : other, newest, all, boxes };
}

const OFFERED = 12;

interface Read {
  a: FoundProfile | null;
  b: FoundProfile | null;
  problem: string | null;
}

export function createCompareController(services: PageServices): { compare: Forms } {
  const { profiles, panels, cpu, forms, retention, replay } = services;
  const { html, json, markdown, redirect } = createAnswers(services);

  async function readOne(token: string | null): Promise<FoundProfile | null> {
    return token === null ? null : profiles.read(token);
  }

  function problemOf({ a, b }: CompareQuery, read: Omit<Read, 'problem'>): string | null {
    for (const [token, profile] of [
      [a, read.a],
      [b, read.b],
    ] as const) {
      if (token === null || profile !== null) continue;
      if (profiles.isUnrecorded(token)) return `The request ${token} was not recorded: recording was paused.`;
      return `No profile with token ${token}. ${retention()}`;
    }
    return a !== null && a === b ? 'A and B are the same request. Choose another one.' : null;
  }

  async function readBoth(query: CompareQuery): Promise<Read> {
    const [a, b] = await Promise.all([readOne(query.a), readOne(query.b)]);
    return { a, b, problem: problemOf(query, { a, b }) };
  }

  async function readPair(page: PageRequest): Promise<{ a: FoundProfile; b: FoundProfile }> {
    const query = readCompareQuery(page.query);
    for (const name of ['a', 'b'] as const)
      if (query[name] === null) throw createError('BAD_FILTER', [name, 'is missing; give two tokens']);
    const { a, b, problem } = await readBoth(query);
    if (a === null || b === null)
      throw createError('UNKNOWN_TOKEN', [(a === null ? query.a : query.b) ?? '']);
    if (problem !== null) throw createError('BAD_FILTER', ['b', 'is the same request as A; give two tokens']);
    return { a, b };
  }

  async function findOthers(
    like: Profile | null,
    without: readonly (string | null)[],
  ): Promise<ProfileIndex[]> {
    const route = like?.route ?? null;
    const same = like === null || route === null ? {} : { route, method: like.method };
    const { rows } = await profiles.find({
      ...same,
      isAsset: false,
      limit: OFFERED + without.length,
    });
    return rows.filter(({ token }) => !without.includes(token)).slice(0, OFFERED);
  }

  async function modelOf(page: PageRequest, query: CompareQuery, pair: { a: FoundProfile; b: FoundProfile }) {
    const { all } = query;
    const [a, b] = [pair.a.profile, pair.b.profile];
    const comparison = await compareProfiles(pair.a, pair.b, panels);
    const tokens = { a: a.token, b: b.token };
    const sides = [
      { name: 'A', profile: a, slices: dataOf(a, 'timeline')?.slices ?? [] },
      { name: 'B', profile: b, slices: dataOf(b, 'timeline')?.slices ?? [] },
    ];
    const kinds = new Set(sides.flatMap(({ slices }) => slices.map(({ kind }) => kind)));
    const repeated = repetitionOf(pair.a, pair.b);
    const changes = findingChanges(comparison.findings, repeated?.by ?? null);
    return {
      headline: repeated === null ? 'Compare two profiles' : verdictOf(changes),
      changes,
      title: `${a.token} and ${b.token} compared`,
      sides,
      summary: summarizeComparison(a, b, comparison.figures),
      scaleMs: Math.max(a.durationMs ?? 0, b.durationMs ?? 0),
      kinds: [...kinds],
      names: Object.fromEntries(Object.entries(SPAN_KINDS).map(([kind, { label }]) => [kind, label])),
      rows: rowsPage(
        { sections: comparisonSections(comparison, all) },
        { page: { ...tokens, ...(all ? { all: '1' } : {}) }, query: Object.fromEntries(page.query) },
      ),
      failed: comparison.failed,
      hasUnchanged: comparison.work.some(({ rows }) => rows.some(({ unchanged }) => unchanged)),
      repeated,
      canSample: cpuFormOf(a, cpu) !== null,
      csrf: replay === 'off' ? null : await forms.sign(),
      all,
      selected: query.boxes,
      links: {
        swap: urls.compare({ a: b.token, b: a.token }),
        all: urls.compare({ ...tokens, all: all ? undefined : 1 }),
        json: urls.compareJson(tokens),
        markdown: urls.compareMarkdown(tokens),
        newest: b.route === null ? null : urls.compare({ a: b.token, b: NEWEST }),
      },
    };
  }

  const compare: Forms = {
    async page(page) {
      let query: CompareQuery;
      try {
        query = readCompareQuery(page.query);
      } catch (error) {
        if (!isFilterError(error)) throw error;
        const choices = await findOthers(null, []);
        const none = { a: null, b: null };
        const model = { title: 'Compare', query: none, chosen: null, problem: error.message, choices };
        await html(page, 'profiler/compare-form', model, 400);
        return;
      }
      const { a, b, problem } = await readBoth(query);
      if (a === null || b === null || problem !== null) {
        const chosen = (a ?? b)?.profile ?? null;
        const choices = await findOthers(chosen, [query.a, query.b]);
        const [newest] = choices;
        if (query.newest && a !== null && newest !== undefined) {
          redirect(page, urls.compare({ a: a.profile.token, b: newest.token }));
          return;
        }
        const model = { title: 'Compare', query, chosen, problem, choices };
        const unknown = problem !== null && (a === null || b === null);
        await html(page, 'profiler/compare-form', model, unknown ? 404 : 200);
        return;
      }
      await html(page, 'profiler/compare', await modelOf(page, query, { a, b }));
    },
    async json(page) {
      const { a, b } = await readPair(page);
      const comparison = await compareProfiles(a, b, panels);
      const summary = summarizeComparison(a.profile, b.profile, comparison.figures);
      const tokens = { a: a.profile.token, b: b.profile.token };
      json(page, jsonForm('comparison', { ...tokens, summary, ...comparison }));
    },
    async markdown(page) {
      const { a, b } = await readPair(page);
      const comparison = await compareProfiles(a, b, panels);
      const repeated = repetitionOf(a, b)?.by ?? null;
      markdown(page, compareMarkdown(a.profile, b.profile, { comparison, repeated }));
    },
  };
  return { compare };
}
