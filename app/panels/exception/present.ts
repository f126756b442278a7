/** What was thrown, as rows: place and source, the cause chain, properties, the stack trace, the request's last log lines. */
import type { Json } from '../../profiler/json.ts';
import type { Presentation, Row, Section } from '../../profiler/rows.ts';
import type { Thrown, ThrownLink } from '../../profiler/thrown.ts';
import { frameHelpers } from '../../view-helpers/frames.ts';
import { skippedText } from '../../view-helpers/thrown-chain.ts';
import { excerptText } from '../../view-helpers/source.ts';
import { valueHelpers, valueText } from '../../view-helpers/values.ts';
import type { Swallowed, ValuesRecord } from '../../profiler/values.ts';
import type { ExceptionData, ThrownRecord } from './data.ts';
import { nameOfPlace } from './place.ts';

const MOST_FRAMES = 40;
const ORIGINS: Readonly<Record<string, string>> = {
  uncaughtException: 'uncaught exception',
  unhandledRejection: 'unhandled rejection',
  work: 'failed with it',
  graphql: 'thrown by a resolver',
  parser: 'refused by the HTTP parser',
  late: 'thrown after the response',
  logged: 'logged, not thrown',
  sent: 'read from the response or a log line',
};

function titleOf({ class: name, message }: ThrownLink): string {
  const line = frameHelpers.headline(message);
  return line === '' ? name : `${name}: ${line}`;
}

/** The message if it has several lines, and where it was thrown. */
function whereRows({ thrown, place, from, handler, dropped }: ThrownRecord): Row[] {
  const [top] = thrown.chain;
  const rows: Row[] = [];
  if (top !== undefined && top.message !== frameHelpers.headline(top.message))
    rows.push({ label: 'Message', block: { text: top.message } });
  const name = place === null ? null : nameOfPlace(place);
  const layers = [
    ...(from === undefined ? [] : [{ label: 'Middleware', text: from.name, place: from.place }]),
    ...(handler === undefined
      ? []
      : [
          {
            label: 'Error handler',
            text: handler.name,
            place: handler.place,
            ...(dropped === true ? { note: 'called next() without the error' } : {}),
          },
        ]),
  ];
  if (place === null || name === null) return [...rows, ...layers];
  const { function: inside, ranFrom, excerpt, line } = place.frame;
  rows.push({
    label: frameHelpers.whereTitle(place, thrown),
    ...(inside === null ? {} : { text: `${inside}()` }),
    place: name,
    note: ranFrom === null ? null : `ran from ${ranFrom}`,
    ...(excerpt === null ? {} : { block: { text: excerptText(excerpt, line), language: 'ts' } }),
  });
  return [...rows, ...layers];
}

function linkRow(link: ThrownLink, index: number, { status, late, thrown, origin }: ThrownRecord): Row {
  const isRoot = index === thrown.chain.length - 1 && thrown.chainEnd === 'root';
  const frame = link.frames.find(({ kind }) => kind === 'own');
  const how = index > 0 ? null : status === null ? null : `responded with ${status}`;
  return {
    label: `${index === 0 ? 'Thrown' : isRoot ? 'Origin' : 'Caused by'}${skippedText(link)}`,
    text: titleOf(link),
    tone: index === 0 && origin !== 'logged' && (status === null || status >= 500) ? 'bad' : 'warn',
    note: [how, late ? 'after the response' : null].filter((part) => part !== null).join(', ') || null,
    place: frame === undefined ? null : frameHelpers.framePlace(frame),
  };
}

/** Variables of the own frames of a chain, the root first. */
function valueRows({ thrown }: ThrownRecord): Row[] {
  return thrown.chain.toReversed().flatMap((link) => {
    const own = link.frames.filter(({ kind }) => kind === 'own');
    return own.flatMap((frame): Row[] => {
      const place = frameHelpers.framePlace(frame);
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
    fields: [{ label: 'Caught at', value: caught ?? '' }],
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

/** How the values were read. */
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
  const { thrown, origin, status } = record;
  const { chain, chainEnd } = thrown;
  const [top] = chain;
  if (top === undefined) return [];
  const id = `error-${index + 1}`;
  const how = [status === null ? '' : `responded with ${status}`, ORIGINS[origin] ?? ''].filter(
    (text) => text !== '',
  );
  const end = CHAIN_ENDS[chainEnd];
  const { rows: properties } = frameHelpers.propertyRows(chain);
  const hasTrace = chain.some(({ frames }) => frames.length > 0);
  return [
    {
      id,
      title: titleOf(top),
      ...(how.length === 0 ? {} : { note: how.join(', ') }),
      columns: { label: 'Step', text: 'Function' },
      rows: whereRows(record),
      none: 'The place in the code is unknown.',
    },
    {
      id: `${id}-values`,
      title: 'Values where it failed',
      columns: { label: 'Variable', text: 'Value', note: 'Reason', place: 'Frame' },
      rows: hasValues ? valueRows(record) : [],
    },
    {
      id: `${id}-chain`,
      title: 'Cause chain',
      ...(end === undefined ? {} : { note: end }),
      columns: { label: 'Step', text: 'Error' },
      rows: chain.map((link, at) => linkRow(link, at, record)),
      card: 'in order',
      ...(chain.length > 1 ? {} : { inMarkdown: false as const }),
    },
    {
      id: `${id}-errors`,
      title: 'Errors in it',
      rows: chain
        .flatMap(({ errors }) => errors)
        .map((member) => ({ text: member.chain.map(titleOf).join(', caused by ') })),
    },
    {
      id: `${id}-properties`,
      title: 'Properties',
      rows: properties.map(({ name, value }) => ({
        label: name.replaceAll('\u200b', ''),
        text: value as Json,
      })),
    },
    {
      id: `${id}-trace`,
      title: 'Stack trace',
      rows: hasTrace ? [{ block: { text: frameHelpers.traceLines(thrown, MOST_FRAMES).join('\n') } }] : [],
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
    figures: [{ label: 'Where', value: place === null ? null : nameOfPlace(place), isPlace: true }],
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
