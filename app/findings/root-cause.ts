/** The error was caused by another one: names the line in the application's code where that one was thrown. */
import type { ExceptionData, ThrownRecord } from '../panels/exception/data.ts';
import type { FindingDraft, FindingRule } from '../profiler/finding-rule.ts';
import type { ThrownFrame } from '../profiler/thrown.ts';
import { count, excerpt } from './shared/wording.ts';

function ownFrame(frames: readonly ThrownFrame[] | undefined): ThrownFrame | undefined {
  return frames?.find(({ kind }) => kind === 'own');
}

function lineOf(frame: ThrownFrame | undefined): string | null {
  if (frame === undefined || frame.file === null) return null;
  return frame.line === null ? frame.file : `${frame.file}:${frame.line}`;
}

function findingOf({ thrown, from }: ThrownRecord, index: number): FindingDraft[] {
  const { chain, chainEnd } = thrown;
  const [first] = chain;
  const root = chain.at(-1);
  if (first === undefined || root === undefined || chain.length < 2 || chainEnd !== 'root') return [];
  const frame = ownFrame(root.frames);
  const where = frame?.function === null || frame === undefined ? '' : `, thrown in ${frame.function},`;
  const skipped = chain.reduce((sum, link) => sum + (link.skipped ?? 0), 0);
  const depth = `${count(chain.length - 1 + skipped, 'level')} down`;
  const sentence = `${root.class}: ${excerpt(root.message)}${where} caused this ${first.class} (${depth})`;
  return [
    {
      broke: 'response',
      severity: 'bad',
      sentence,
      anchor: `error-${index + 1}`,
      place: lineOf(frame) ?? lineOf(ownFrame(first.frames)) ?? from?.place ?? null,
    },
  ];
}

export const rootCause: FindingRule<{ exception: ExceptionData }> = {
  name: 'root-cause',
  needs: ['exception'],
  labels: ['root cause'],
  why: 'The error that failed the request has a `cause`; the place is the topmost frame in your own code of the last cause, else the middleware that it came from.',
  fix: 'Fix the cause; the wrapping errors only show where it surfaced.',
  find({ exception: { errors } }) {
    return errors.flatMap((record, index) => {
      const { status, origin } = record;
      const isFault = status !== null && status >= 500;
      return isFault || origin === 'unhandledRejection' || origin === 'uncaughtException'
        ? findingOf(record, index)
        : [];
    });
  },
};
