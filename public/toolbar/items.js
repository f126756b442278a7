// The items of the bar, most important first, each with its preview.
//
// An item is { key, href, parts, preview }. `parts` stand in the bar; the preview is { title, facts: [label, value][],
// more(): elements, rows, moreRows: how many are left out, link: text of the link to its panel }.
import { count, durationText, isNumber, percentText } from '../../app/view-helpers/number-texts.ts';
import { badge, element, foreign, kindDot, partsBar, span, statusChip, toneClass } from './draw.js';
import { callsItem } from './calls-item.js';
import { cutText, shortDuration, shortUrl, wholeOf } from './format.js';

/** Panels of a lower rank stand before the calls of the page, the others behind them. */
const RANK_OF_CALLS = 60;

function routeText(text) {
  return span('route', foreign(text, 32));
}

function statusItem(entry, ask) {
  const { method, url, status, statusText, route, handler, startedAt, token, state } = entry;
  return {
    key: 'status',
    href: ask.url(entry.href),
    parts: [
      statusChip(status),
      method === 'GET' ? null : span('method', cutText(method, 10)),
      routeText(route ?? shortUrl(url)),
    ],
    preview: {
      title: `${method} ${url}`,
      facts: [
        ['Status', status === null ? 'no response yet' : `${status} ${statusText}`],
        ['Route', route],
        ['Handler', handler],
        ['Started', isNumber(startedAt) ? new Date(startedAt).toLocaleTimeString() : null],
        ['State', state === 'running' ? 'still running' : null],
        ['Token', token],
      ],
      link: 'Open the profile',
      also: { href: ask.list(), text: 'All requests' },
    },
  };
}

function findingRow({ text, label, severity, href }) {
  return { text, badge: label, tone: severity, href };
}

function findingsItem({ findings, moreFindings, href }, ask) {
  if (findings.length === 0) return null;
  const [{ label, severity }] = findings;
  const more = findings.length - 1 + moreFindings;
  return {
    key: 'findings',
    href: ask.url(findings[0].href) ?? ask.url(href),
    parts: [badge(label, severity), more > 0 ? span('lab', `+${more}`) : null],
    preview: {
      title: 'Findings',
      rows: findings.map(findingRow),
      moreRows: moreFindings,
      link: 'Open finding',
    },
  };
}

function partsRows(parts) {
  const whole = wholeOf(parts);
  const rows = parts.map(({ kind, label, ms }) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, kindDot(kind), label),
      element('td', { class: 'num' }, durationText(ms)),
      element('td', { class: 'num lab' }, percentText(ms, whole)),
    ),
  );
  const attributes = { class: 'split', 'aria-label': 'Where the time went' };
  return element('table', attributes, element('tbody', {}, ...rows));
}

function browserFact(name, ms) {
  return [name, isNumber(ms) ? `${durationText(ms)} in the browser` : null];
}

function timeItem(entry, { timing }, ask, timeline) {
  const { durationMs, state } = entry;
  const parts = entry.parts.filter(({ ms }) => ms > 0);
  const text = durationMs === null ? 'running' : shortDuration(durationMs);
  return {
    key: 'time',
    href: ask.url(timeline?.href ?? entry.href),
    parts: [
      span('lab', 'time'),
      span(toneClass(timeline?.tone), text),
      parts.length > 0 ? partsBar(parts) : null,
    ],
    preview: {
      title: durationMs === null ? 'Still running' : `${durationText(durationMs)} on the server`,
      more: () => (parts.length > 0 ? [partsBar(parts), partsRows(parts)] : []),
      facts: [
        ['State', state === 'running' ? 'still running' : null],
        browserFact('First byte', timing?.ttfb),
        browserFact('DOM ready', timing?.domContentLoaded),
        browserFact('Largest paint', timing?.lcp),
      ],
      rows: timeline?.preview.rows,
      moreRows: timeline?.preview.more,
      link: 'Open the timeline',
    },
  };
}

function panelItem({ panel, label, title, text, tone, href, preview }, ask) {
  return {
    key: `panel ${panel}`,
    href: ask.url(href),
    parts: [span('lab', cutText(label, 20)), span(toneClass(tone), foreign(text, 40))],
    preview: {
      title: label.charAt(0).toUpperCase() + label.slice(1),
      facts: preview.facts,
      rows: preview.rows,
      moreRows: preview.more,
      link: `Open ${title}`,
    },
  };
}

function requestRow({ method, url, status, durationMs, href }) {
  return {
    text: `${status === null ? '…' : status} ${method} ${shortUrl(url)}`,
    note: durationText(durationMs),
    tone: status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'plain',
    href,
  };
}

/** Of the redirects that led to a page; information is none. */
function worstFinding(redirects) {
  const findings = redirects.flatMap((redirect) => redirect.findings ?? []);
  return ['bad', 'warn']
    .map((wanted) => findings.find(({ severity }) => severity === wanted))
    .find((finding) => finding !== undefined);
}

function fromItem(entry, before, ask) {
  const redirects = entry?.cameFrom ?? [];
  const steps = [...before, ...redirects];
  if (steps.length === 0) return null;
  const last = steps.at(-1);
  const isRedirect = redirects.length > 0;
  const worst = worstFinding(redirects);
  return {
    key: 'from',
    href: ask.url(last.href),
    parts: [
      worst === undefined ? null : badge(worst.label, worst.severity),
      span('lab', isRedirect ? String(last.status) : 'after'),
      span('lab', isRedirect ? 'from' : ''),
      routeText(`${last.method} ${shortUrl(last.url)}`),
      steps.length > 1 ? span('lab', `+${steps.length - 1}`) : null,
    ],
    preview: {
      title: isRedirect ? `${count(redirects.length, 'redirect')} led here` : 'Previous pages',
      rows: steps.flatMap((step) => [requestRow(step), ...(step.findings ?? []).map(findingRow)]),
      link: 'Open the latest',
    },
  };
}

const FAILURES = {
  signin: 'Sign in to the profiler to see this.',
  refused: 'The application does not allow you to see this.',
  missing: 'No profile is stored for this request.',
  failed: 'The profiler failed to read the profile.',
  strange: 'Another program responds at the profiler’s address.',
  policy: 'The page’s content security policy blocks requests to the profiler.',
  gone: 'The service does not respond.',
};

/** The bar has the token of the request, and nothing else of it. */
function failureItem({ token, reason }, ask) {
  return {
    key: 'failure',
    href: token === null ? ask.list() : ask.profile(token),
    parts: [span('mono', token ?? 'Hindsight'), span('lab', FAILURES[reason ?? 'gone'])],
    preview: null,
  };
}

/** The page's script built this page without a request, or the page is of a front end without a service: it has no profile. */
function unservedItem({ moved }, ask) {
  const title = 'This page made no request to the service';
  return {
    key: 'unserved',
    href: ask.list(),
    parts: [moved === null ? span('lab', 'Hindsight') : routeText(shortUrl(moved.url))],
    preview:
      moved === null ? null : { title, facts: [['Address', moved.url]], link: 'Open the request list' },
  };
}

/**
 * `state`: see toolbar.js. `entry` is the request as toolbar.json describes it, null until it is known; `before` holds earlier
 * ones, oldest first.
 */
export function itemsOf(state, ask) {
  const { token, entry, before, calls, moreCalls, unserved, reason } = state;
  const page = { href: ask.url(entry?.href) ?? ask.list(), note: FAILURES[unserved] };
  const shared = [callsItem(calls, moreCalls, page), fromItem(entry, before, ask)];
  const isLost = token !== null || reason !== null;
  if (entry === null)
    return [isLost ? failureItem(state, ask) : unservedItem(state, ask), ...shared].filter(Boolean);
  const timeline = entry.items.find(({ panel }) => panel === 'timeline');
  const panels = entry.items.filter((item) => item !== timeline);
  return [
    statusItem(entry, ask),
    findingsItem(entry, ask),
    timeItem(entry, state, ask, timeline),
    ...panels.filter(({ rank }) => rank < RANK_OF_CALLS).map((item) => panelItem(item, ask)),
    ...shared,
    ...panels.filter(({ rank }) => rank >= RANK_OF_CALLS).map((item) => panelItem(item, ask)),
  ].filter(Boolean);
}

/** The worst problem, which the folded bar shows: those of one tone in this order. */
export function worstOf({ entry, calls, reason }) {
  const failed = calls.filter(({ state, tone }) => state === 'failed' || tone === 'bad').length;
  const slow = calls.filter(({ tone }) => tone === 'warn').length;
  const [finding] = entry?.findings ?? [];
  const led = worstFinding(entry?.cameFrom ?? []);
  const bad = entry?.items.find(({ tone }) => tone === 'bad');
  const problems = [
    { text: finding?.label, tone: finding?.severity },
    { text: led?.label, tone: led?.severity === 'bad' ? 'bad' : undefined },
    { text: `${bad?.label} ${bad?.text}`, tone: bad?.tone },
    { text: `${count(failed, 'call')} failed`, tone: failed > 0 ? 'bad' : undefined },
    { text: `${slow} slow`, tone: slow > 0 ? 'warn' : undefined },
  ];
  return (
    problems.find(({ tone }) => tone === 'bad') ??
    problems.find(({ tone }) => tone === 'warn') ??
    (reason !== null && entry === null ? { text: 'no profile', tone: 'plain' } : null)
  );
}
