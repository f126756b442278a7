/** The exception panel as Markdown: what is pasted into an issue. Message, place, excerpt, chain, properties, trace, logs. */
import type { Thrown, ThrownLink } from '../../profiler/thrown.ts';
import { frameHelpers } from '../../view-helpers/frames.ts';
import { blocks, code, excerpt, fence, heading, pairs, prose, table } from '../../view-helpers/markdown.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import type { ExceptionData, ThrownRecord } from './index.ts';
import type { ErrorLog } from './logs.ts';
import { nameOfPlace, type SourcePlace } from './place.ts';

const MOST_FRAMES = 40;
const ORIGINS: Readonly<Record<string, string>> = {
  uncaughtException: 'uncaught exception',
  unhandledRejection: 'unhandled rejection',
  parser: 'refused by the HTTP parser',
  late: 'thrown after the answer',
};

function titleOf({ class: name, message }: ThrownLink): string {
  const line = frameHelpers.headline(message);
  return line === '' ? name : `${name}: ${line}`;
}

function whereOf(place: SourcePlace | null, { chain }: Thrown): string {
  const name = place === null ? null : nameOfPlace(place);
  if (place === null || name === null) return '';
  const { function: inside, ranFrom } = place.frame;
  return blocks([
    `${frameHelpers.whereTitle(place, chain.length)}: ${code(name)}${inside === null ? '' : ` in ${code(`${inside}()`)}`}${ranFrom === null ? '' : `, ran from ${code(ranFrom)}`}`,
    place.frame.excerpt === null ? '' : excerpt(place.frame.excerpt, place.frame.line),
  ]);
}

function chainOf({ chain, chainEnd }: Thrown): string {
  if (chain.length < 2) return '';
  const items = chain.map((link, index) => {
    const isRoot = index === chain.length - 1 && chainEnd === 'root';
    const what = index === 0 ? 'thrown' : isRoot ? 'began with' : 'caused by';
    const frame = link.frames.find(({ kind }) => kind === 'own');
    const at = frame === undefined ? '' : ` at ${code(frameHelpers.framePlace(frame))}`;
    return `${index + 1}. ${what} ${code(link.class)}: ${prose(frameHelpers.headline(link.message))}${at}`;
  });
  const end = {
    root: '',
    circular: 'The chain comes back to an error named above.',
    cut: 'The chain goes on.',
  };
  return blocks([heading(4, 'Cause chain'), items.join('\n'), end[chainEnd]]);
}

function membersOf({ chain }: Thrown): string {
  const members = chain.flatMap(({ errors }) => errors);
  const items = members.map(
    (member, index) => `${index + 1}. ${prose(member.chain.map(titleOf).join(', caused by '))}`,
  );
  return items.length === 0 ? '' : blocks([heading(4, 'Errors in it'), items.join('\n')]);
}

function propertiesOf({ chain }: Thrown): string {
  const { rows } = frameHelpers.propertyRows(chain, { frames: 0, characters: 12_000 });
  const shown = pairs(rows.map(({ name, value }) => [name.replaceAll('\u200b', ''), value] as const));
  return shown === '' ? '' : blocks([heading(4, 'Properties'), shown]);
}

function recordOf({ thrown, place, origin, status }: ThrownRecord): string {
  const [top] = thrown.chain;
  if (top === undefined) return '';
  const how = [status === null ? '' : `answered with ${status}`, ORIGINS[origin] ?? ''].filter(
    (text) => text !== '',
  );
  const isWhole = top.message === frameHelpers.headline(top.message);
  const hasTrace = thrown.chain.some(({ frames }) => frames.length > 0);
  return blocks([
    heading(3, titleOf(top)),
    how.length === 0 ? '' : `${how.join(', ')}.`.replace(/^a/, 'A').replace(/^u/, 'U'),
    isWhole ? '' : fence(top.message),
    whereOf(place, thrown),
    chainOf(thrown),
    membersOf(thrown),
    propertiesOf(thrown),
    hasTrace
      ? blocks([heading(4, 'Trace'), fence(frameHelpers.traceLines(thrown, MOST_FRAMES).join('\n'))])
      : '',
  ]);
}

function logsOf(logs: readonly ErrorLog[], cut: number): string {
  if (logs.length === 0) return '';
  const rows = table<ErrorLog>(
    [
      { title: 'Time', value: ({ atMs }) => `+${numberHelpers.durationText(atMs)}`, plain: true },
      { title: 'Level', value: ({ level }) => level },
      { title: 'Channel', value: ({ channel }) => channel },
      { title: 'Message', value: ({ message }) => message },
    ],
    logs,
  );
  return blocks([
    heading(3, 'Logs of this request'),
    cut > 0 ? `The last ${logs.length} of ${logs.length + cut}.` : '',
    rows,
  ]);
}

export function exceptionMarkdown({ errors, errorsCut, logs, logsCut }: ExceptionData): string {
  return blocks([
    ...errors.map(recordOf),
    errorsCut > 0 ? `${numberHelpers.count(errorsCut, 'more error')} left out.` : '',
    logsOf(logs, logsCut),
  ]);
}
