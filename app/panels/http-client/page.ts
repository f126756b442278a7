/** What the page of outgoing calls shows: rows in their order, those that belong together folded, one page of them. */
import type { PanelPage } from '../../profiler/panel.ts';
import type { CallEntry, HttpClientData } from './index.ts';
import { addressOf, PAGE_BUDGET, pageOf } from '../shared/rows.ts';
import { type CurlCommand, curlOf } from './curl.ts';
import { type CallGroup, type CallGroupKind, groupCalls, headerOf, redirectsOf } from './groups.ts';
import { type CallPart, errorName, isFailed, partsOf } from './outcome.ts';

interface Badge {
  text: string;
  tone: 'bad' | 'warn' | 'plain';
}

export interface CallRow {
  id: string;
  number: number;
  call: CallEntry;
  badges: Badge[];
  parts: CallPart[];
  curl: CurlCommand;
  /** The profile of the called service: its token where it is one of ours, else its address. */
  profile: { token: string } | { href: string } | null;
  /** `application/json`, and the bytes that were announced. */
  type: string | null;
  bytes: number | null;
  /** Number of the call whose redirect it followed. */
  redirectOf: number | null;
  /** Where it is shown with all of it; null where it is shown here. */
  openHref: string | null;
  open: boolean;
}

export interface CallGroupRow {
  id: string;
  badge: Badge;
  method: string;
  url: string;
  count: number;
  durationMs: number;
  failed: number;
  /** That of all of them; null where they differ. */
  status: number | null;
  caller: string | null;
  members: CallRow[];
  open: boolean;
}

interface Plan {
  members: readonly number[];
  group: CallGroup | null;
  at: number;
}

const groupBadges: Record<CallGroupKind, Omit<Badge, 'text'> & { text: string }> = {
  retry: { text: 'retried', tone: 'warn' },
  repeated: { text: 'repeated', tone: 'warn' },
  loop: { text: 'loop', tone: 'warn' },
};

/** Only an address that a browser opens as a page: what a service answered is not to be trusted. */
function safeLink(link: string | null, base: string): string | null {
  if (link === null || link.length > 2000 || /[\s"'<>\\]/.test(link)) return null;
  const whole = link.startsWith('/') && !link.startsWith('//') && URL.canParse(link, base) ? new URL(link, base).href : link; // prettier-ignore
  return /^https?:\/\/[^/]/i.test(whole) ? whole : null;
}

/** A profile of this origin is one of ours. */
function profileLink({ link, url }: CallEntry, origin: string | null): CallRow['profile'] {
  const href = safeLink(link, url);
  if (href === null) return null;
  const token = /^(.*)\/_profiler\/([0-9a-f]{6})$/.exec(href);
  return token !== null && token[1] === origin ? { token: token[2] ?? '' } : { href };
}

function badgesOf(call: CallEntry): Badge[] {
  const badges: Badge[] = [];
  if (call.error !== null) badges.push({ text: errorName(call.error), tone: 'bad' });
  else if (isFailed(call)) badges.push({ text: 'failed', tone: 'bad' });
  return badges;
}

/** Characters that a call takes on the page, roughly: its line, and with it all that is told of it. */
function costOf({ url, requestHeaders, responseHeaders }: CallEntry, brief: boolean): number {
  const line = 620 + Math.min(url.length, 400);
  if (brief) return line;
  const headers = [...requestHeaders, ...responseHeaders];
  return (
    line +
    2200 +
    url.length * 3 +
    headers.reduce((total, { name, value }) => total + 110 + name.length * 2 + value.length * 3, 0)
  );
}

/** A group stands where its first call was made. */
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

/** The first page where it holds the call that is asked for, else a page that begins with it. */
function fromOf(plans: readonly Plan[], open: string, cost: (plan: Plan, brief: boolean) => number): string {
  const at = plans.findIndex(({ members }) => members.some((index) => `c${index + 1}` === open));
  const before = plans.slice(0, Math.max(0, at)).reduce((sum, plan) => sum + cost(plan, true), 0);
  return before > PAGE_BUDGET - 6000 ? String(at) : '0';
}

export function presentCalls(data: HttpClientData, { profile, query }: PanelPage) {
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
  const cost = ({ members }: Plan, short: boolean): number =>
    members.reduce((sum, index) => sum + (calls[index] ? costOf(calls[index], short) : 0), 400);
  const brief = found.reduce((sum, plan) => sum + cost(plan, false), 0) > PAGE_BUDGET;
  const open = query.open ?? '';
  const page = pageOf(found, {
    query: { ...query, from: query.from ?? fromOf(found, open, cost) },
    cost: (plan) => cost(plan, brief),
  });
  const hrefOf = (id: string): string =>
    `${link({ from: page.from === 0 ? null : page.from, open: id })}#${id}`;

  function rowOf(index: number): CallRow[] {
    const call = calls[index];
    if (call === undefined) return [];
    const length = Number(headerOf(call, 'content-length') ?? NaN);
    const source = redirects.get(index);
    const id = `c${index + 1}`;
    return [
      {
        id,
        open: open === id,
        openHref: brief && open !== id ? hrefOf(id) : null,
        number: index + 1,
        call,
        badges: badgesOf(call),
        parts: partsOf(call),
        curl: curlOf(call),
        profile: profileLink(call, profile.origin),
        type: headerOf(call, 'content-type'),
        bytes: Number.isInteger(length) && length >= 0 ? length : null,
        redirectOf: source === undefined ? null : source + 1,
      },
    ];
  }

  function groupRow({ members, at }: Plan, group: CallGroup): CallGroupRow {
    const entries = members.flatMap((index) => calls[index] ?? []);
    const [first] = entries;
    const callers = new Set(entries.map(({ caller }) => caller));
    const { text, tone } = groupBadges[group.kind];
    return {
      id: `r${at + 1}`,
      badge: { text: `${text} × ${members.length}`, tone },
      method: first?.method ?? '',
      url: group.url,
      count: members.length,
      durationMs: entries.reduce((sum, { durationMs }) => sum + (durationMs ?? 0), 0),
      failed: entries.filter(isFailed).length,
      status: new Set(entries.map(({ status }) => status)).size === 1 ? (first?.status ?? null) : null,
      caller: callers.size === 1 ? (first?.caller ?? null) : null,
      members: members.flatMap(rowOf),
      open: members.some((index) => open === `c${index + 1}`),
    };
  }

  return {
    find,
    clear: link({ find: null }),
    page: {
      ...page,
      rows: page.rows.map((plan) => ({
        group: plan.group === null ? null : groupRow(plan, plan.group),
        row: plan.group === null ? (rowOf(plan.members[0] ?? -1)[0] ?? null) : null,
      })),
    },
    firstHref: link({}),
    nextHref: page.next === null ? null : link({ from: page.next }),
    allHref: link({ all: 1 }),
    slowestMs: Math.max(0, ...calls.map(({ durationMs }) => durationMs ?? 0)),
  };
}
