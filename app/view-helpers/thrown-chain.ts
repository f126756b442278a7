/** The errors that the first screen lists beside the excerpt: the cause chain, and members of an AggregateError. */
import { EMPTY_LINK, type Thrown, type ThrownLink } from '../profiler/thrown.ts';
import { frameHelpers } from './frames.ts';
import { numberHelpers } from './numbers.ts';

export interface ChainItem {
  say: string;
  class: string;
  headline: string;
  place: string | null;
  target: string;
  isRoot: boolean;
}

export function headlineOf({ message, isError }: ThrownLink): string {
  const text = frameHelpers.headline(message);
  if (text !== '') return text;
  return isError ? 'An error without a message' : 'An empty value was thrown';
}

function itemOf(link: ThrownLink, more: { say: string; target: string; isRoot: boolean }): ChainItem {
  const frame = link.frames.find(({ kind }) => kind === 'own');
  return {
    ...more,
    class: link.class,
    headline: headlineOf(link),
    place: frame === undefined ? null : frameHelpers.framePlace(frame),
  };
}

/** ` (90 between them left out)` */
export function skippedText({ skipped }: ThrownLink): string {
  return skipped === undefined ? '' : ` (${numberHelpers.count(skipped)} between them left out)`;
}

/** Thrown, caused by, began with; and members of an AggregateError. */
export function chainOf({ chain, chainEnd }: Thrown, idOf: (index: number) => string): ChainItem[] {
  if (chain.length < 2) return [];
  return chain.map((link, index) => {
    const isRoot = index === chain.length - 1 && chainEnd === 'root';
    const say = `${index === 0 ? 'thrown' : isRoot ? 'began with' : 'caused by'}${skippedText(link)}`;
    return itemOf(link, { say, target: idOf(index), isRoot });
  });
}

/** The error that the chain began with; null if there is only one, or its beginning is unknown. */
export function rootOf(
  { chain, chainEnd }: Thrown,
  idOf: (index: number) => string,
): Pick<ChainItem, 'class' | 'headline' | 'target'> | null {
  const root = chain.at(-1);
  if (root === undefined || chain.length < 2 || chainEnd !== 'root') return null;
  return { class: root.class, headline: headlineOf(root), target: idOf(chain.length - 1) };
}

export function membersOf({ chain }: Thrown, idOf: (index: number) => string): ChainItem[] {
  return chain.flatMap((link, index) =>
    link.errors.map((member, at) =>
      itemOf(member.chain.at(-1) ?? EMPTY_LINK, {
        say: `${at + 1} of ${link.errors.length + link.errorsDropped}`,
        target: `${idOf(index)}-${at + 1}-1`,
        isRoot: false,
      }),
    ),
  );
}

export function chainNote(end: Thrown['chainEnd'], length: number): string {
  if (end === 'circular') return 'The chain leads back to an error above.';
  return end === 'truncated'
    ? `The chain continues; the last of these ${numberHelpers.count(length)} errors is not its root cause.`
    : '';
}
