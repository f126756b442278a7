/** The checks that a test can make of a request. Each check is written once; assertions, chai and matchers report its verdict. */
import type { DatabaseData } from '../../panels/database/data.ts';
import type { CallEntry, HttpClientData } from '../../panels/http-client/data.ts';
import type { RuntimeData } from '../../panels/runtime/data.ts';
import type { Finding } from '../../profiler/read/finding.ts';
import { blocks } from '../../view-helpers/markdown.ts';
import { count, durationText } from '../../view-helpers/numbers.ts';
import type { TestedProfile } from '../process-profilers.ts';
import { readResponse } from './read-response.ts';
import { createFindingsModel } from '../../controllers/profiler/findings-model.ts';
import { findingParts } from '../../controllers/profiler/short-markdown.ts';
import type { Section } from '../../profiler/read/rows.ts';
import { presentPanel } from '../../render/present-panel.ts';
import { rowsMarkdown } from '../../render/rows-markdown.ts';

const MOST_FINDINGS = 3;
const MOST_ROWS = 12;

function shortSection(section: Section): Section {
  const { rows, left = 0 } = section;
  return {
    ...section,
    rows: rows.slice(0, MOST_ROWS).map((row) => ({ ...row, block: undefined, fields: [] })),
    left: left + Math.max(0, rows.length - MOST_ROWS),
  };
}

function explainFindings({ profile, panels, rules }: TestedProfile, findings: readonly Finding[]): string {
  const of = { ...profile, findings: findings.slice(0, MOST_FINDINGS) };
  return blocks([
    ...findingParts({ profile, panels, amendments: {}, findings: createFindingsModel(of, rules, {}) }),
    findings.length > MOST_FINDINGS ? `And ${findings.length - MOST_FINDINGS} more.` : '',
  ]);
}

function explainPanel({ profile, panels }: TestedProfile, name: string, ids: readonly string[]): string {
  const panel = panels.find((one) => one.name === name);
  const presented = panel === undefined ? null : presentPanel(panel, { profile, amendments: {} });
  if (presented === null) return '';
  const { figures = [], sections } = presented;
  return rowsMarkdown({ figures, sections: sections.filter(({ id }) => ids.includes(id)).map(shortSection) });
}

export interface Verdict {
  passed: boolean;
  failure(): string;
  contrary(): string;
}

export interface FindingsAllowed {
  /** Names of rules whose findings are accepted, such as `slow-call`. */
  except?: readonly string[];
}

function nameOf({ profile: { method, url } }: TestedProfile): string {
  return `${method} ${url}`;
}

function dataOf({ profile }: TestedProfile, panel: string): unknown {
  const { data = null, error = null } = profile.panels[panel] ?? {};
  if (error !== null) throw new TypeError(`The panel ${panel} failed, so this can’t be checked: ${error}`);
  return data;
}

function notRecorded(tested: TestedProfile): never {
  throw new TypeError(`Only a summary of ${nameOf(tested)} was recorded: recording is paused.`);
}

function readWhole(response: unknown): TestedProfile {
  const tested = readResponse(response);
  return tested.profile.summary === null ? tested : notRecorded(tested);
}

function found(tested: TestedProfile, wanted: (finding: Finding) => boolean): Finding[] {
  return tested.profile.findings.filter(wanted);
}

function findingsVerdict(tested: TestedProfile, findings: readonly Finding[], noun: string): Verdict {
  const number = findings.length;
  return {
    passed: number === 0,
    failure: () =>
      blocks([
        `${nameOf(tested)} has ${number === 1 ? `1 ${noun}` : `${count(number)} ${noun}s`}; expected none.`,
        explainFindings(tested, findings),
      ]),
    contrary: () => `${nameOf(tested)} has no ${noun}; expected at least one.`,
  };
}

const MILLISECONDS: Readonly<Record<string, number>> = { µs: 0.001, us: 0.001, ms: 1, s: 1000 };

function readDuration(limit: number | string): number {
  const [, amount, unit = 'ms'] = /^(\d+(?:\.\d+)?) ?(µs|us|ms|s)?$/.exec(String(limit).trim()) ?? [];
  if (amount === undefined)
    throw new TypeError(
      `"${String(limit)}" is not a duration; give milliseconds, or a text such as '5 ms' or '0.2 s'.`,
    );
  return Number(amount) * (MILLISECONDS[unit] ?? 1);
}

function matches({ method, url }: CallEntry, wantedMethod: string, wantedUrl: RegExp | string): boolean {
  if (method.toUpperCase() !== wantedMethod.toUpperCase()) return false;
  return typeof wantedUrl === 'string' ? url.includes(wantedUrl) : url.search(wantedUrl) !== -1;
}

export const checks = {
  queriesBelow(response: unknown, limit: number): Verdict {
    if (typeof limit !== 'number' || Number.isNaN(limit))
      throw new TypeError(`"${String(limit)}" is not a number of queries.`);
    const tested = readWhole(response);
    const queries = (dataOf(tested, 'database') as DatabaseData | null)?.totals.queries ?? 0;
    const said = `${nameOf(tested)} ran ${count(queries, 'query', 'queries')}`;
    return {
      passed: queries < limit,
      failure: () =>
        blocks([
          `${said}; expected fewer than ${limit}.`,
          explainFindings(
            tested,
            found(tested, ({ panel }) => panel === 'database'),
          ),
          explainPanel(tested, 'database', ['queries']),
        ]),
      contrary: () => `${said}; expected ${limit} or more.`,
    };
  },
  noFindings(response: unknown, { except = [] }: FindingsAllowed = {}): Verdict {
    const tested = readWhole(response);
    return findingsVerdict(
      tested,
      found(tested, ({ rule }) => !except.includes(rule ?? '')),
      'finding',
    );
  },
  noNPlusOne(response: unknown): Verdict {
    const tested = readWhole(response);
    return findingsVerdict(
      tested,
      found(tested, ({ label }) => label === 'N+1'),
      'N+1',
    );
  },
  called(response: unknown, method: string, url: RegExp | string): Verdict {
    const tested = readWhole(response);
    const calls = (dataOf(tested, 'http_client') as HttpClientData | null)?.calls ?? [];
    const number = calls.filter((call) => matches(call, method, url)).length;
    const wanted = `${method.toUpperCase()} ${String(url)}`;
    const shown = (): string => explainPanel(tested, 'http_client', ['calls']);
    return {
      passed: number > 0,
      failure: () =>
        calls.length === 0
          ? `${nameOf(tested)} made no outgoing call; expected ${wanted}.`
          : blocks([`${nameOf(tested)} did not call ${wanted}.`, shown()]),
      contrary: () => blocks([`${nameOf(tested)} called ${wanted}; expected no such call.`, shown()]),
    };
  },
  cpuBelow(response: unknown, limit: number | string): Verdict {
    const limitMs = readDuration(limit);
    const tested = readWhole(response);
    const runtime = dataOf(tested, 'runtime') as RuntimeData | null;
    if (runtime === null) throw new TypeError(`The CPU time of ${nameOf(tested)} was not recorded.`);
    const cpuMs = runtime.cpuUserMs + runtime.cpuSystemMs;
    const said = `${nameOf(tested)} took ${durationText(cpuMs)} of CPU time`;
    return {
      passed: cpuMs < limitMs,
      failure: () =>
        blocks([
          `${said}; expected less than ${durationText(limitMs)}.`,
          explainFindings(
            tested,
            found(tested, ({ panel }) => panel === 'runtime'),
          ),
          explainPanel(tested, 'runtime', ['blocked', 'collections']),
          explainPanel(tested, 'timeline', ['shares']),
        ]),
      contrary: () => `${said}; expected ${durationText(limitMs)} or more.`,
    };
  },
};
