/** Finds unknown options of a profiler, each with the closest known one: typing errors, or options of another version. */
import { profilerSettings, hostSettings } from '../config/settings.ts';
import { editDistance } from '../profiler/edit-distance.ts';
import type { ServiceOptions } from './profiler-options.ts';

type Setting = keyof typeof profilerSettings | keyof typeof hostSettings;

const KNOWN: Record<Exclude<keyof ServiceOptions, Setting>, true> = {
  storage: true,
  panels: true,
  findings: true,
  secrets: true,
  secretNames: true,
  redactor: true,
  process: true,
  isStored: true,
  settings: true,
  root: true,
  describesAllRoutes: true,
  authorize: true,
  sourceOf: true,
  anyHostBehindProxy: true,
  Router: true,
  onRequest: true,
  observe: true,
  warn: true,
};
const SAME_START = 5;
const DIFFERENT = 2;

function nearest(name: string, known: readonly string[]): readonly string[] {
  const lower = name.toLowerCase();
  const alike = known.filter((other) => other.toLowerCase().startsWith(lower.slice(0, SAME_START)));
  if (lower.length >= SAME_START && alike.length > 0) return alike;
  return known.filter((other) => editDistance(lower, other.toLowerCase(), DIFFERENT) <= DIFFERENT);
}

export function unknownOptions(options: object): string[] {
  const known = [...Object.keys(profilerSettings), ...Object.keys(hostSettings), ...Object.keys(KNOWN)];
  return Object.keys(options)
    .filter((name) => !known.includes(name))
    .map((name) => {
      const near = nearest(name, known);
      const advice = near.length === 0 ? 'it has no effect.' : `did you mean ${near.join(', ')}?`;
      return `unknown option "${name}"; ${advice}`;
    });
}
