/** The other requests that this one's data came from: who wrote what it read, who added the job, who linked to an address that failed. */
import type { EarlierRequest } from '../../profiler/read/finding-rule.ts';
import type { Json } from '../../profiler/json.ts';
import { isMasked, withoutNumbers } from '../../profiler/masking/redact.ts';
import type { BesideProfile } from '../../profiler/panel.ts';
import type { Profile, ProfileHead } from '../../profiler/profile.ts';
import type { Facts } from '../../profiler/record/facts.ts';
import { namedHeader } from '../../profiler/record/raw-headers.ts';
import { type Field, isInLibrary, type Row } from '../../profiler/read/rows.ts';
import { durationText } from '../../view-helpers/numbers.ts';
import { dataOf, type Kept } from '../shared/panel-data.ts';
import { SESSION } from '../shared/session-writer.ts';
import { requestText } from '../shared/request-text.ts';
import { valueLine } from '../../view-helpers/value-line.ts';
import { lineOf, type Step } from './step.ts';

const LONGEST_DATA = 400;

type Other = EarlierRequest<Partial<Kept>>;

/** `PUT /carts/:id (a1b2c3), 3.0 s before (src/carts.js:41)` */
function otherField(
  label: string,
  head: ProfileHead,
  { beforeMs, place }: { beforeMs: number; place: string | null | undefined },
): Field {
  const at = place === null || place === undefined || isInLibrary(place) ? '' : ` (${place})`;
  const value = `${requestText(head)}, ${durationText(Math.max(0, beforeMs))} before${at}`;
  return { label, value, token: head.token };
}

/** By panel and index of the work that read. */
export function writtenBy({ writers }: Pick<BesideProfile, 'writers'>): ReadonlyMap<string, Field> {
  return new Map(
    Array.from(writers, ([at, { head, isDeleted, ...when }]) => [
      at,
      otherField(isDeleted ? 'Deleted by' : 'Last recorded write', head, when),
    ]),
  );
}

/** The session as it was read, if the request that changed it last is known: this one did not. */
export function sessionSteps(profile: Profile, { writers }: Pick<BesideProfile, 'writers'>): Step[] {
  const { session = null } = dataOf(profile, 'request')?.sessionAndUser ?? {};
  const field = writtenBy({ writers }).get(SESSION);
  if (session === null || field === undefined) return [];
  const line = lineOf(valueLine(session, { longest: LONGEST_DATA }));
  return [{ label: 'session', ...line, fields: [field], href: '?panel=request' }];
}

/** What a finding of such a request says is often why this one got what it did. */
export function brokenBeforeRows({ brokenBefore }: Pick<BesideProfile, 'brokenBefore'>): Row[] {
  return brokenBefore.map(({ head, finding: { label, severity, sentence, place, path } }) => ({
    label,
    note: sentence,
    tone: severity === 'info' ? 'plain' : severity,
    place: place ?? null,
    path,
    fields: [{ label: 'Found in', value: requestText(head), token: head.token }],
  }));
}

/** Lines of other profiles: those that wrote its rows, those that failed, those that it started, and the last write to its tables. */
export function otherRows({
  writers,
  brokenBefore,
  started,
  tableWriters,
}: Pick<BesideProfile, 'writers' | 'brokenBefore' | 'started' | 'tableWriters'>): Row[] {
  return [
    ...Array.from(writers.values(), ({ head, place, path }) => ({
      label: `last write: ${requestText(head)}`,
      place,
      path,
    })),
    ...brokenBefore.map(({ head, finding: { label, place, path } }) => ({
      label: `${label}: ${requestText(head)}`,
      place,
      path,
    })),
    ...started.map(({ what, token, place, worker }) => ({
      label: `${what} (${token})`,
      place: place ?? worker,
    })),
    ...tableWriters.map(({ table, head, place, path }) => ({
      label: `last write to ${table}: ${requestText(head)}`,
      place,
      path,
    })),
  ];
}

function addedBy({ parent, startedAt }: Profile, run: Facts['jobRun'], before: readonly Other[]): Field[] {
  const dataText = (data: Json): string => withoutNumbers(JSON.stringify(data));
  for (const { head, kept } of run.id === null ? [] : before) {
    const job = kept.jobs?.items.find(
      ({ id, queue, error }) => id === run.id && queue === run.queue && error === null,
    );
    const isIt = parent === null ? dataText(job?.data ?? null) === dataText(run.data) : head.token === parent;
    if (job === undefined || !isIt) continue;
    const when = { beforeMs: startedAt - head.startedAt - job.startMs, place: job.caller };
    return [otherField('Added by', head, when)];
  }
  return parent === null ? [] : [{ label: 'Added by', value: parent, token: parent }];
}

function jobSteps(profile: Profile, before: readonly Other[]): Step[] {
  const { run } = dataOf(profile, 'jobs') ?? {};
  if (run === undefined) return [];
  const { queue, name, id, data, attempt, attempts } = run;
  return [
    {
      label: 'job',
      text: id === null ? `${queue}/${name}` : `${queue}/${name} ${id}`,
      note: attempt > 1 ? `attempt ${attempt} of ${attempts}` : null,
      fields: addedBy(profile, run, before),
    },
    { label: 'data', ...lineOf(valueLine(data, { longest: LONGEST_DATA })) },
  ];
}

function linksTo({ kept }: Other, url: string, origin: string): boolean {
  const { text } = kept.request?.response ?? {};
  const addresses = [url, `${origin}${url}`].flatMap((one) => [one, one.replaceAll('&', '&amp;')]);
  return ['"', "'"].some((quote) =>
    addresses.some((one) => text?.includes(`${quote}${one}${quote}`) === true),
  );
}

/** Of a request that failed: the page that sent it by its Referer, else the response that had its address. */
function linkSteps(profile: Profile, before: readonly Other[]): Step[] {
  const { url, origin, status, clientAddress, startedAt } = profile;
  if ((status ?? 0) < 400 || origin === null || url.length < 2 || isMasked(url)) return [];
  const referer = namedHeader(dataOf(profile, 'request')?.headers ?? [], 'referer');
  const others = before.filter(
    ({ head }) =>
      head.origin === origin &&
      head.clientAddress === clientAddress &&
      (referer === null ||
        (head.method === 'GET' && `${origin}${head.url}` === referer && !isMasked(referer))),
  );
  const linking = others.find((other) => linksTo(other, url, origin));
  const from = linking ?? (referer === null ? undefined : others[0]);
  if (from === undefined) return [];
  const when = { beforeMs: startedAt - from.head.startedAt, place: from.kept.request?.response?.sentFrom };
  const label = linking === undefined ? 'Sent from' : 'Linked from';
  return [{ label: 'address', text: url.slice(0, 300), fields: [otherField(label, from.head, when)] }];
}

export function originSteps(profile: Profile, before: readonly EarlierRequest[]): Step[] {
  return profile.kind === 'job' ? jobSteps(profile, before) : linkSteps(profile, before);
}
