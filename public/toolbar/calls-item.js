// The item of the calls that the page made, and its preview: newest first, failed and slow ones marked.
import { count, durationText } from '../../app/view-helpers/number-texts.ts';
import { badge, element, foreign, span, statusChip, toneClass } from './draw.js';
import { shortDuration, shortUrl } from './format.js';

const MOST_ROWS = 30;
const TYPES = { eventsource: 'event stream', beacon: 'beacon', document: 'frame' };

function isBad({ state, tone }) {
  return state === 'failed' || tone === 'bad';
}

function statusOf({ status, state }) {
  if (status !== null || state === 'open') return statusChip(status);
  return state === 'failed' ? span('bad', 'failed') : span('lab', '–');
}

function timeOf({ ms, state, startedAt }) {
  if (state !== 'open') return durationText(ms);
  return `open, ${shortDuration(Math.max(0, performance.now() - startedAt))}`;
}

function redirectLine({ status, method, url, href }) {
  return span('why', 'after ', element('a', { href }, `${status} ${method} `, foreign(shortUrl(url))));
}

function row(call) {
  const { method, url, status, type, token, href, tone, why, cameFrom } = call;
  const isSaid = why === null || why === `responded ${status}`;
  const what = [
    span('mono', method === null ? '' : `${method} `, foreign(shortUrl(url))),
    TYPES[type] === undefined ? null : span('lab', ` ${TYPES[type]}`),
    isSaid ? null : span(`why ${toneClass(isBad(call) ? 'bad' : tone)}`, foreign(why)),
    ...cameFrom.map(redirectLine),
  ];
  const profile =
    href === null ? span('lab', 'none') : element('a', { class: 'mono', href }, token ?? 'open');
  return element(
    'tr',
    {},
    element('td', {}, statusOf(call)),
    element('td', { class: 'grow' }, ...what),
    element('td', { class: `num ${toneClass(tone)}` }, timeOf(call)),
    element('td', {}, profile),
  );
}

function table(calls) {
  const head = ['Status', 'Call', 'Time', 'Profile'].map((text) =>
    element('th', { scope: 'col', class: text === 'Time' ? 'num' : '' }, text),
  );
  return element(
    'table',
    { class: 'calls', 'aria-label': 'Calls from this page' },
    element('thead', {}, element('tr', {}, ...head)),
    element('tbody', {}, ...calls.map(row)),
  );
}

/** For calls to be marked amber: the time of the slowest, else the status that they share. */
function warningOf(calls) {
  if (calls.length === 0) return null;
  const slowest = Math.max(...calls.map(({ status, ms }) => (status >= 400 ? 0 : (ms ?? 0))));
  if (slowest > 0) return shortDuration(slowest);
  const [{ status }] = calls;
  return calls.length === 1
    ? String(status)
    : `${calls.length} × ${calls.every((call) => call.status === status) ? status : '4xx'}`;
}

/** Null while there are none. `more`: number of older ones, no longer listed; `href`: the profile of the page; `note`: why the service adds nothing. */
export function callsItem(calls, more, { href, note }) {
  if (calls.length === 0) return null;
  const all = calls.length + more;
  const failed = calls.filter(isBad).length;
  const warning = warningOf(calls.filter((call) => call.tone === 'warn' && !isBad(call)));
  const left = Math.max(0, all - MOST_ROWS);
  return {
    key: 'calls',
    href,
    parts: [
      span('lab', 'calls'),
      count(all),
      failed > 0 ? badge(`${failed} failed`, 'bad') : null,
      warning === null ? null : badge(warning, 'warn'),
    ],
    preview: {
      title: `${count(all, 'call')} from this page`,
      more: () => [
        table(calls.slice(-MOST_ROWS).reverse()),
        left > 0 ? element('p', { class: 'lab' }, `and ${count(left)} older`) : null,
        note === undefined ? null : element('p', { class: 'lab' }, note),
      ],
      link: 'Open the page’s profile',
    },
  };
}
