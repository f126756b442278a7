/** What was thrown was caused by something else: the line in own code where it began. */
import type { ExceptionData } from '../panels/exception/index.ts';
import type { Finding, FindingRule } from '../profiler/finding.ts';
import type { Thrown, ThrownFrame } from '../profiler/thrown.ts';
import { counted, placed } from './shared/wording.ts';

function ownFrame(frames: readonly ThrownFrame[] | undefined): ThrownFrame | undefined {
  return frames?.find(({ kind }) => kind === 'own');
}

function lineOf(frame: ThrownFrame | undefined): string | null {
  if (frame === undefined || frame.file === null) return null;
  return frame.line === null ? frame.file : `${frame.file}:${frame.line}`;
}

function findingOf({ chain, chainEnd }: Thrown, index: number): Finding[] {
  const [first] = chain;
  const root = chain.at(-1);
  if (first === undefined || root === undefined || chain.length < 2 || chainEnd === 'circular') return [];
  const frame = ownFrame(root.frames);
  const name = frame?.function === null || frame === undefined ? '' : ` in ${frame.function}`;
  const finding: Finding = {
    label: 'root cause',
    severity: 'bad',
    sentence: `${first.class} began with ${root.class}${name}, ${counted(chain.length - 1, 'cause')} below it`,
    panel: 'exception',
    anchor: `error-${index + 1}`,
  };
  return [placed(finding, lineOf(frame) ?? lineOf(ownFrame(first.frames)))];
}

export const rootCause: FindingRule<{ exception: ExceptionData }> = {
  name: 'root-cause',
  needs: ['exception'],
  labels: ['root cause'],
  known:
    'The error that failed the request names a cause, and the place is the nearest own frame of the last cause.',
  mends: 'Mend the cause; what wraps it only tells where it was noticed.',
  find({ exception: { errors } }) {
    return errors.flatMap(({ thrown, status, origin }, index) =>
      (status !== null && status >= 500) || origin === 'unhandledRejection' || origin === 'uncaughtException'
        ? findingOf(thrown, index)
        : [],
    );
  },
};
