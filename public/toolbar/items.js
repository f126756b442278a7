// The items of the bar, most important first, each with its preview.
//
// An item is { key, href, sign, draw(), preview }. `sign` changes when what it shows does; the preview is
// { title, facts: [label, value][], more: element[], sign, link: text of the link to its panel }.
import { badge, element, foreign, partsBar, span, statusChip, toneClass } from './draw.js';
import { callsItem } from './calls-item.js';
import {
  countText,
  cutText,
  durationText,
  isNumber,
  percentText,
  shortDuration,
  shortUrl,
  wholeOf,
} from './format.js';

/** Panels of a lower rank stand before the calls of the page, the others behind them. */
const RANK_OF_CALLS = 60;
const MOST_ROUTE = 32;

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function statusItem(entry, ask) {
  const { method, url, status, statusText, route, handler, startedAt, token, state } = entry;
  const facts = [
    ['Status', status === null ? 'no response yet' : `${status} ${statusText}`],
    ['Route', route],
    ['Handler', handler],
    ['Started', typeof startedAt === 'number' ? new Date(startedAt).toLocaleTimeString() : null],
    ['State', state === 'running' ? 'still running' : null],
    ['Token', token],
  ];
  return {
    key: 'status',
    href: ask.url(entry.href),
    sign: [status, method, route, url],
    draw: () => [
      statusChip(status),
      method === 'GET' ? null : span('method', cutText(method, 10)),
      span('route', foreign(route ?? shortUrl(url), MOST_ROUTE)),
    ],
    preview: {
      title: `${method} ${url}`,
      facts,
      link: 'Open the profile',
      also: { href: ask.list(), text: 'All requests' },
    },
  };
}

function findingsItem({ findings, moreFindings, href }, ask) {
  if (findings.length === 0) return null;
  const [{ label, severity }] = findings;
  const more = findings.length - 1 + moreFindings;
  const tone = severity === 'info' ? 'plain' : severity;
  const rows = findings.map(({ text, label, severity, href: to }) => ({
    text,
    badge: label,
    tone: severity,
    href: to,
  }));
  return {
    key: 'findings',
    href: ask.url(findings[0].href) ?? ask.url(href),
    tone,
    sign: [label, severity, more],
    draw: () => [badge(label, tone), more > 0 ? span('lab', `+${more}`) : null],
    preview: {
      title: 'Findings',
      rows: { list: rows, more: moreFindings },
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
      element('th', { scope: 'row' }, span(`dot k-${kind}`), label),
      element('td', { class: 'num' }, durationText(ms)),
      element('td', { class: 'num lab' }, percentText(ms, whole)),
    ),
  );
  return element(
    'table',
    { class: 'split', 'aria-label': 'Where the time went' },
    element('tbody', {}, ...rows),
  );
}

function browserFacts({ ttfb, domContentLoaded, lcp }) {
  const measured = [
    ['First byte', ttfb],
    ['DOM ready', domContentLoaded],
    ['Largest paint', lcp],
  ];
  return measured
    .filter(([, ms]) => isNumber(ms))
    .map(([name, ms]) => [name, `${durationText(ms)} in the browser`]);
}

function timeItem(entry, { timing, untold }, ask, timeline) {
  const { durationMs, state } = entry;
  const parts = entry.parts.filter(({ ms }) => ms > 0);
  const text = durationMs === null ? 'running' : shortDuration(durationMs);
  return {
    key: 'time',
    href: ask.url(timeline?.href ?? entry.href),
    tone: timeline?.tone,
    sign: [text, parts],
    draw: () => [
      span('lab', 'time'),
      span(toneClass(timeline?.tone), text),
      parts.length > 0 ? partsBar(parts) : null,
    ],
    preview: {
      title: durationMs === null ? 'Still running' : `${durationText(durationMs)} on the server`,
      more: () => (parts.length > 0 ? [partsBar(parts), partsRows(parts)] : []),
      facts: [
        ...(state === 'running' ? [['State', 'still running']] : []),
        ...browserFacts(timing ?? {}),
        // Whoever sees the page may see its profile: a refusal can only be about the origin.
        [
          'Not stored',
          untold === 'refused' ? 'The service accepts it from its own origin only.' : FAILURES[untold],
        ],
      ],
      rows: timeline === undefined ? undefined : { list: timeline.preview.rows, more: timeline.preview.more },
      link: 'Open the timeline',
    },
  };
}

function panelItem({ panel, label, title, text, tone, href, preview }, ask) {
  return {
    key: `panel ${panel}`,
    href: ask.url(href),
    tone,
    sign: [label, text, tone],
    draw: () => [span('lab', cutText(label, 20)), span(toneClass(tone), foreign(text, 40))],
    preview: {
      title: capital(label),
      facts: preview.facts,
      rows: { list: preview.rows, more: preview.more },
      link: `Open ${title}`,
    },
  };
}

function request({ method, url, status, durationMs }) {
  return {
    text: `${status === null ? '…' : status} ${method} ${shortUrl(url)}`,
    note: durationText(durationMs),
    tone: status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'plain',
  };
}

/** Of the redirects that led to a page; information is none. */
function worstFinding(redirects) {
  const findings = redirects.flatMap((redirect) => redirect.findings ?? []);
  return (
    findings.find(({ severity }) => severity === 'bad') ??
    findings.find(({ severity }) => severity === 'warn')
  );
}

function fromItem(entry, before, ask) {
  const redirects = entry?.cameFrom ?? [];
  const last = redirects.at(-1) ?? before.at(-1);
  if (last === undefined) return null;
  const chain = [...before, ...redirects].flatMap((one) => [
    { ...request(one), href: one.href },
    ...(one.findings ?? []).map(({ text, label, severity, href }) => ({
      text,
      badge: label,
      tone: severity,
      href,
    })),
  ]);
  const isRedirect = redirects.length > 0;
  const worst = worstFinding(redirects);
  return {
    key: 'from',
    href: ask.url(last.href),
    tone: worst?.severity,
    sign: [chain],
    draw: () => [
      worst === undefined ? null : badge(worst.label, worst.severity),
      span('lab', isRedirect ? String(last.status) : 'after'),
      span('lab', isRedirect ? 'from' : ''),
      span('route', foreign(`${last.method} ${shortUrl(last.url)}`, MOST_ROUTE)),
      before.length + redirects.length > 1 ? span('lab', `+${before.length + redirects.length - 1}`) : null,
    ],
    preview: {
      title: isRedirect ? `${countText(redirects.length, 'redirect')} led here` : 'Previous pages',
      rows: { list: chain, more: 0 },
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
  const text = FAILURES[reason ?? 'gone'];
  return {
    key: 'failure',
    href: token === null ? ask.list() : ask.profile(token),
    sign: [token, reason],
    draw: () => [span('mono', token ?? 'Hindsight'), span('lab', text)],
    preview: null,
  };
}

/** The page's script built this page without a request, or the page is of a front end without a service: it has no profile. */
function unservedItem({ moved }, ask) {
  const words =
    moved === null ? [span('lab', 'Hindsight')] : [span('route', foreign(shortUrl(moved.url), MOST_ROUTE))];
  const preview = { title: 'This page made no request to the service', facts: [['Address', moved?.url]], link: 'Open the request list' }; // prettier-ignore
  return {
    key: 'unserved',
    href: ask.list(),
    sign: [moved],
    draw: () => words,
    preview: moved === null ? null : preview,
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

/** The worst problem, which the folded bar shows. */
export function worstOf({ entry, calls, reason }) {
  const failed = calls.filter(({ state, tone }) => state === 'failed' || tone === 'bad').length;
  const [finding] = entry?.findings ?? [];
  if (finding?.severity === 'bad') return { text: finding.label, tone: 'bad' };
  const led = worstFinding(entry?.cameFrom ?? []);
  if (led?.severity === 'bad') return { text: led.label, tone: 'bad' };
  const bad = entry?.items.find(({ tone }) => tone === 'bad');
  if (bad !== undefined) return { text: `${bad.label} ${bad.text}`, tone: 'bad' };
  if (failed > 0) return { text: `${countText(failed, 'call')} failed`, tone: 'bad' };
  if (finding?.severity === 'warn') return { text: finding.label, tone: 'warn' };
  const slow = calls.filter(({ tone }) => tone === 'warn').length;
  if (slow > 0) return { text: `${slow} slow`, tone: 'warn' };
  return reason !== null && entry === null ? { text: 'no profile', tone: 'plain' } : null;
}
