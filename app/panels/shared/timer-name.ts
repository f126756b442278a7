import { shorten } from '../../profiler/read/span.ts';

/** `the timer pruneSessions` */
export function timerName({ name }: { name: string }): string {
  return name === '' ? 'a timer' : `the timer ${shorten(name, 80)}`;
}
