/** What the page of outgoing calls needs beyond the rows: the filter, and calls folded into groups. */
import type { PanelPage } from '../../profiler/panel.ts';
import type { Profile } from '../../profiler/profile.ts';
import { addressOf, firstRows } from '../../render/rows-page.ts';
import { totalMs } from '../shared/rows.ts';
import { curlOf } from './curl.ts';
import type { CallEntry, HttpClientData } from './data.ts';
import { type CallGroup, groupCalls, headerOf, redirectsOf } from './groups.ts';
import { compareResponses, indented } from './responses.ts';
import { hasFailed } from '../shared/failed-call.ts';
import { errorName, partsOf } from './outcome.ts';

interface Plan {
  members: readonly number[];
  group: CallGroup | null;
  at: number;
}

/** Only http and https: the address comes from the called service, which is not trusted. */
function safeLink(link: string | null, base: string): string | null {
  if (link === null || link.length > 2000 || /[\s"'<>\\]/.test(link)) return null;
  const whole = link.startsWith('/') && !link.startsWith('//') && URL.canParse(link, base) ? new URL(link, base).href : link; // prettier-ignore
  return /^https?:\/\/[^/]/i.test(whole) ? whole : null;
}

/** A token only if the profile is of the same storage, or of this origin. */
function profileLink(
  { link, url }: CallEntry,
  { origin, called }: { origin: string | null; called: Profile | undefined },
): { token: string } | { href: string } | null {
  if (called !== undefined) return { token: called.token };
  const href = safeLink(link, url);
  if (href === null) return null;
  const token = /^(.*)\/_profiler\/([0-9a-f]{6})$/.exec(href);
  return token !== null && token[1] === origin ? { token: token[2] ?? '' } : { href };
}

/** Characters of a body on the page. */
const MOST_BODY = 6000;

function bodyRow(title: string, body: CallEntry['requestBody']) {
  if (body === undefined) return [];
  const { bytes, text, truncated } = body;
  const json = text === null ? null : indented(text);
  const whole = json ?? text;
  return [
    {
      title,
      bytes,
      /** null if it can't be shown. JSON is indented. */
      text: whole?.slice(0, MOST_BODY) ?? null,
      isJson: json !== null,
      isCut: truncated || (whole?.length ?? 0) > MOST_BODY,
    },
  ];
}

/** A group takes the place of its first call. */
function plansOf(calls: readonly CallEntry[]): Plan[] {
  const groups = groupCalls(calls);
  const groupAt = new Map(groups.flatMap((group, at) => group.members.map((index) => [index, at] as const)));
  return calls.flatMap((_call, index): Plan[] => {
    const at = groupAt.get(index);
    const group = at === undefined ? undefined : groups[at];
    if (at === undefined || group === undefined) return [{ members: [index], group: null, at: index }];
    return group.members[0] === index ? [{ members: group.members, group, at }] : [];
  });
}

function matches(call: CallEntry, text: string): boolean {
  const parts = [call.method, call.url, String(call.status ?? ''), call.error ?? '', call.caller ?? ''];
  return parts.join(' ').toLowerCase().includes(text);
}

type DrawnRow = ReturnType<typeof drawCalls>['rows'][number];
export type CallRow = NonNullable<DrawnRow['row']>;
export type CallGroupRow = NonNullable<DrawnRow['group']>;

export function drawCalls(data: HttpClientData, { profile, query, called }: PanelPage) {
  const { calls } = data;
  const find = (query.find ?? '').slice(0, 200);
  const link = (changes: Record<string, string | number | null>): string =>
    addressOf('http_client', { find, ...changes });
  const redirects = redirectsOf(calls);
  const found = plansOf(calls).filter(({ members }) =>
    members.some((index) => {
      const call = calls[index];
      return call !== undefined && matches(call, find.toLowerCase());
    }),
  );
  const open = query.open ?? '';

  function rowOf(index: number) {
    const call = calls[index];
    if (call === undefined) return [];
    const length = Number(headerOf(call, 'content-length') ?? NaN);
    const source = redirects.get(index);
    const id = `c${index + 1}`;
    return [
      {
        id,
        open: open === id,
        number: index + 1,
        call,
        /** How it failed; null if it did not. */
        failure: call.error !== null ? errorName(call.error) : hasFailed(call) ? 'failed' : null,
        parts: partsOf(call),
        curl: curlOf(call),
        bodies: [
          ...bodyRow('Request body', call.requestBody),
          ...bodyRow('Response body', call.responseBody),
        ],
        /** The profile of the called service: its token where it is one of ours, else its address. */
        profile: profileLink(call, { origin: profile.origin, called: called?.get(id) }),
        /** Content-Type and Content-Length of the response. */
        type: headerOf(call, 'content-type'),
        bytes: Number.isInteger(length) && length >= 0 ? length : null,
        /** Number of the call whose redirect this one followed. */
        redirectOf: source === undefined ? null : source + 1,
      },
    ];
  }

  function groupRow({ members, at }: Plan, group: CallGroup) {
    const entries = members.flatMap((index) => calls[index] ?? []);
    const [first] = entries;
    const callers = new Set(entries.map(({ caller }) => caller));
    return {
      id: `r${at + 1}`,
      badge: `${group.kind === 'retry' ? 'retried' : group.kind} × ${members.length}`,
      method: first?.method ?? '',
      url: group.url,
      count: members.length,
      durationMs: totalMs(entries),
      failed: entries.filter(hasFailed).length,
      /** null if they differ. */
      status: new Set(entries.map(({ status }) => status)).size === 1 ? (first?.status ?? null) : null,
      caller: callers.size === 1 ? (first?.caller ?? null) : null,
      /** null if they have nothing to compare. */
      responses: compareResponses(calls, members),
      members: members.flatMap(rowOf),
      open: members.some((index) => open === `c${index + 1}`),
    };
  }

  return {
    find,
    clear: link({ find: null }),
    rows: firstRows(found, query).map((plan) => ({
      group: plan.group === null ? null : groupRow(plan, plan.group),
      row: plan.group === null ? (rowOf(plan.members[0] ?? -1)[0] ?? null) : null,
    })),
    total: found.length,
    allHref: link({ all: 1 }),
    slowestMs: Math.max(0, ...calls.map(({ durationMs }) => durationMs ?? 0)),
  };
}
