/** Thrown errors as rows: the place, the cause chain with its stacks, properties, the stack trace, the request's last log lines. */
import type { Json } from '../../profiler/json.ts';
import type { Detail, Presentation, Row, Section } from '../../profiler/read/rows.ts';
import { frameLine, type Thrown, type ThrownLink } from '../../profiler/record/thrown.ts';
import { framePlace, headline, propertyRows, traceLines } from '../../view-helpers/frames.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { excerptText, excerptLines } from '../../view-helpers/source.ts';
import { valueHelpers, valueText } from '../../view-helpers/values.ts';
import type { Swallowed, ValuesRecord } from '../../profiler/record/values.ts';
import type { ExceptionData, ThrownRecord } from './data.ts';
import type { SourcePlace } from './place.ts';

/** No route matched: the application itself threw nothing. */
const MISSES: ReadonlySet<unknown> = new Set(['ROUTE_NOT_FOUND', 'METHOD_NOT_ALLOWED']);
const ORIGINS: Readonly<Record<string, string>> = {
  uncaughtException: 'uncaught exception',
  unhandledRejection: 'unhandled rejection',
  work: 'failed with it',
  graphql: 'thrown by a resolver',
  stream: 'of a stream that was sent',
  parser: 'refused by the HTTP parser',
  late: 'thrown after the response',
  logged: 'logged, not thrown',
  sent: 'read from the response or a log line',
};

function titleOf({ class: name, message }: ThrownLink): string {
  const line = headline(message);
  return line === '' ? name : `${name}: ${line}`;
}

/** The message if the title lacks a part of it, where it was thrown, who failed, and who responded. */
function aboutRows(record: ThrownRecord, id: string): Row[] {
  const { thrown, status, from, handler, dropped } = record;
  const [top] = thrown.chain;
  const rows: Row[] = [];
  if (top !== undefined && (top.message !== headline(top.message) || top.messageTruncated > 0))
    rows.push({
      id: `${id}-message`,
      label: 'Message',
      ...(top.messageTruncated > 0
        ? { note: `${numberHelpers.count(top.messageTruncated, 'more character')} not kept` }
        : {}),
      block: { text: top.message },
    });
  rows.push(whereRow(record, id));
  if (from !== undefined) rows.push({ label: 'Failed in', text: from.name, place: from.place });
  if (handler !== undefined)
    rows.push({
      label: 'Handled by',
      text: handler.name,
      place: handler.place,
      note:
        dropped === true
          ? 'called next() without the error'
          : status === null
            ? null
            : `responded with ${status}`,
    });
  return rows;
}

function whereRow({ thrown, place }: ThrownRecord, id: string): Row {
  const [top] = thrown.chain;
  const first = top?.frames[0];
  const row = { id: `${id}-where`, label: 'Where it was thrown' };
  if (MISSES.has(top?.code))
    return { ...row, note: 'No route responded, so your code threw nothing. See Routing.' };
  if (place === null)
    return {
      ...row,
      place: first === undefined ? null : framePlace(first),
      note:
        first !== undefined
          ? 'No frame is in your code.'
          : top?.isError === true
            ? 'The error has no stack.'
            : 'The thrown value is not an Error, so it has no stack trace. Throw new Error(…) to see the line.',
    };
  const { function: inside, ranFrom, excerpt } = place.frame;
  const notes = [
    ranFrom === null ? '' : `ran from ${ranFrom}`,
    excerpt === null ? 'its source was not recorded' : '',
    excerpt?.isChanged === true
      ? 'its file was changed after the process had started, so lines may have moved'
      : '',
  ];
  return {
    ...row,
    label: whereTitle(place, thrown),
    ...(inside === null ? {} : { text: `${inside}()` }),
    place: frameLine(place.frame),
    note: notes.filter((note) => note !== '').join(', ') || null,
  };
}

/** The page has the source of the error and its causes in their stacks. */
function sourceSection({ place }: ThrownRecord, id: string): Section {
  const { frame, member } = place ?? {};
  const excerpt = frame?.excerpt ?? null;
  const rows: Row[] =
    frame === undefined || excerpt === null
      ? []
      : [
          {
            id: `${id}-source-text`,
            place: frameLine(frame),
            block: {
              text: excerptText(excerpt, frame.line),
              language: 'ts',
              lines: excerptLines(excerpt, frame),
            },
          },
        ];
  return {
    id: `${id}-source`,
    title: 'Source',
    rows,
    ...(member === undefined ? { inPage: false as const } : {}),
  };
}

function whereTitle({ link, member }: SourcePlace, { chain, chainEnd }: Thrown): string {
  if (member !== undefined) return `Where error ${member + 1} in it began`;
  const isRoot = chain.length > 1 && link === chain.length - 1 && chainEnd === 'root';
  return isRoot ? 'Origin' : 'Where it was thrown';
}

/** `below`: the error that is listed before it, whose end of the stack it shares. */
function stackOf({ frames, message }: ThrownLink, below: ThrownLink | undefined): Detail {
  return { title: 'Stack', frames, message, ...(below === undefined ? {} : { sharedWith: below.frames }) };
}

function ownPlaceOf({ frames }: ThrownLink): string | null {
  const frame = frames.find(({ kind }) => kind === 'own');
  return frame === undefined ? null : framePlace(frame);
}

function linkRow(
  link: ThrownLink,
  index: number,
  { late, thrown, origin, status }: ThrownRecord,
  id: string,
): Row {
  const isRoot = index > 0 && index === thrown.chain.length - 1 && thrown.chainEnd === 'root';
  const { skipped } = link;
  const left = skipped === undefined ? '' : ` (${numberHelpers.count(skipped)} between them left out)`;
  return {
    id: `${id}-link-${index + 1}`,
    label: `${index === 0 ? 'Thrown' : isRoot ? 'Origin' : 'Caused by'}${left}`,
    text: titleOf(link),
    tone: index === 0 && origin !== 'logged' && (status === null || status >= 500) ? 'bad' : 'warn',
    ...(isRoot ? { mark: 'on' as const } : {}),
    note: late ? 'after the response' : null,
    place: ownPlaceOf(link),
    ...(link.frames.length === 0 ? {} : { detail: () => [stackOf(link, thrown.chain[index + 1])] }),
  };
}

function memberRows({ chain }: Thrown, depth = 0): Row[] {
  return chain.flatMap(({ errors, errorsDropped }) =>
    errors.flatMap((member, index): Row[] => [
      {
        label: `${index + 1} of ${errors.length + errorsDropped}`,
        text: member.chain.map(titleOf).join(', caused by '),
        depth,
        place:
          member.chain
            .toReversed()
            .map(ownPlaceOf)
            .find((place) => place !== null) ?? null,
        detail: () =>
          member.chain.map((link) => ({
            ...stackOf(link, undefined),
            ...(member.chain.length > 1 ? { title: titleOf(link) } : {}),
          })),
      },
      ...memberRows(member, depth + 1),
    ]),
  );
}

function valueRows({ thrown }: ThrownRecord): Row[] {
  return thrown.chain.toReversed().flatMap((link) => {
    const own = link.frames.filter(({ kind }) => kind === 'own');
    return own.flatMap((frame): Row[] => {
      const place = framePlace(frame);
      const inside = `${frame.function ?? 'anonymous'}()`;
      if (frame.values === undefined) return [{ label: inside, text: 'locals not available', place }];
      const rows = valueHelpers.valueRows(frame, link.message, frame === own[0]);
      const at = frame.isRethrow === true ? `${inside}, when it threw again` : inside;
      return rows.length === 0
        ? [{ label: inside, text: 'no variables', place }]
        : rows.map(({ name, value, say, isNamed }) => ({
            label: name,
            text: valueText(value),
            fields: [{ label: 'In', value: at }],
            ...(say === '' ? {} : { note: say }),
            ...(isNamed ? { tone: 'bad' as const } : {}),
            place,
          }));
    });
  });
}

function swallowedRow({
  class: name,
  message,
  atMs,
  times,
  thrown,
  caught,
  isEmptyCatch,
  values,
}: Swallowed): Row {
  return {
    label: name,
    text: message,
    number: atMs,
    ...(times > 1 ? { times } : {}),
    place: thrown,
    fields: [{ label: 'Caught at', value: caught }],
    ...(isEmptyCatch ? { note: 'empty catch block' } : {}),
    ...(values === undefined
      ? {}
      : {
          block: {
            text: Object.entries(values)
              .map(([key, value]) => `${key} = ${valueText(value)}`)
              .join('\n'),
          },
        }),
  };
}

function valuesLead({ of, stops, stoppedMs, ended }: ValuesRecord): string {
  const count = stops === 1 ? '1 of its throws' : `${stops} of its throws`;
  const after = ended === null ? '' : ` ${ended} Later throws were not read.`;
  return `The debugger read the values at ${count}, requested on ${of}. The process was paused for ${stoppedMs} ms in all, also for throws of other requests.${after}`;
}

const CHAIN_ENDS: Readonly<Record<Thrown['chainEnd'], string | undefined>> = {
  root: undefined,
  circular: 'it leads back to an error above',
  truncated: 'it goes on',
};

function recordSections(record: ThrownRecord, index: number, hasValues: boolean): Section[] {
  const { thrown, origin } = record;
  const { chainEnd } = thrown;
  const [top] = thrown.chain;
  if (top === undefined) return [];
  // The cause of a miss is the second try, with or without a slash: the panel of routing tells it.
  const chain = MISSES.has(top.code) ? [top] : thrown.chain;
  const id = `error-${index + 1}`;
  const how = ORIGINS[origin];
  const end = CHAIN_ENDS[chainEnd];
  const { rows: properties, left } = propertyRows(chain);
  const hasTrace = chain.some(({ frames }) => frames.length > 0);
  return [
    {
      id,
      title: titleOf(top),
      ...(how === undefined ? {} : { note: how }),
      columns: { label: 'Step', text: 'Function' },
      rows: aboutRows(record, id),
    },
    sourceSection(record, id),
    {
      id: `${id}-values`,
      title: 'Values where it failed',
      columns: { label: 'Variable', text: 'Value', note: 'Reason', place: 'Frame' },
      rows: hasValues ? valueRows(record) : [],
      inPage: false,
    },
    {
      id: `${id}-chain`,
      title: 'Cause chain',
      ...(end === undefined ? {} : { note: end }),
      columns: { label: 'Step', text: 'Error' },
      rows: chain.map((link, at) => linkRow(link, at, record, id)),
      card: 'in order',
      ...(chain.length > 1 ? {} : { inMarkdown: false as const }),
    },
    {
      id: `${id}-errors`,
      title: 'Errors in it',
      columns: { label: 'Member', text: 'Error' },
      rows: memberRows(thrown),
    },
    {
      id: `${id}-properties`,
      title: 'Properties',
      rows: properties.map(({ name, value }) => ({ label: name, text: value as Json })),
      left,
    },
    {
      id: `${id}-trace`,
      title: 'Stack trace',
      rows: hasTrace ? [{ id: `${id}-trace-text`, block: { text: traceLines(thrown).join('\n') } }] : [],
    },
  ];
}

export function presentException({
  errors,
  errorsDropped,
  logs,
  logsDropped,
  values,
}: ExceptionData): Presentation {
  const place = errors[0]?.place ?? null;
  return {
    ...(values === undefined ? {} : { lead: [valuesLead(values)] }),
    figures: [{ label: 'Where', value: frameLine(place?.frame), isPlace: true }],
    sections: [
      ...errors.flatMap((record, index) => recordSections(record, index, values !== undefined)),
      {
        id: 'swallowed',
        title: 'Swallowed',
        note: 'caught in your code and not logged',
        unit: 'at',
        columns: { label: 'Error', text: 'Message', place: 'Thrown at' },
        rows: values?.swallowed.map(swallowedRow) ?? [],
        left: values?.swallowedLeft ?? 0,
      },
      { id: 'more-errors', title: 'Further errors', rows: [], left: errorsDropped },
      {
        id: 'error-logs',
        title: 'Logs of this request',
        ...(logsDropped > 0 ? { note: `the last ${logs.length} of ${logs.length + logsDropped}` } : {}),
        unit: 'at',
        columns: { text: 'Message' },
        rows: logs.map(({ atMs, level, channel, message }) => ({
          number: atMs,
          text: message,
          fields: [
            { label: 'Level', value: level },
            { label: 'Channel', value: channel },
          ],
        })),
      },
    ],
  };
}
