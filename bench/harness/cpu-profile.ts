/** The functions in which a process spent its time, from what `node --cpu-prof` wrote: self time, without idle. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootFolder } from './folders.ts';

interface ProfileNode {
  id: number;
  callFrame: { functionName: string; url: string; lineNumber: number };
}

interface CpuProfile {
  nodes: ProfileNode[];
  samples: number[];
  timeDeltas: number[];
}

const MOST_FUNCTIONS = 40;
const NOT_WORK = new Set(['(idle)', '(program)', '(root)']);

function nameOf({ callFrame }: ProfileNode): string {
  const { functionName, url, lineNumber } = callFrame;
  const place =
    url === '' ? '' : ` ${url.replace(`file://${rootFolder}/`, '').replace(`${rootFolder}/`, '')}`;
  return `${functionName || '(anonymous)'}${place}${place === '' ? '' : `:${lineNumber + 1}`}`;
}

function selfTimes({ nodes, samples, timeDeltas }: CpuProfile): Map<string, number> {
  const names = new Map(nodes.map((node) => [node.id, nameOf(node)]));
  const times = new Map<string, number>();
  samples.forEach((id, index) => {
    const name = names.get(id) ?? '';
    if (!NOT_WORK.has(name)) times.set(name, (times.get(name) ?? 0) + (timeDeltas[index] ?? 0));
  });
  return times;
}

function reportOf(file: string): string {
  const times = selfTimes(JSON.parse(readFileSync(file, 'utf8')) as CpuProfile);
  const total = [...times.values()].reduce((sum, time) => sum + time, 0);
  const longest = [...times].sort((a, b) => b[1] - a[1]).slice(0, MOST_FUNCTIONS);
  const lines = longest.map(([name, time]) => `${((time / total) * 100).toFixed(1).padStart(5)} %  ${name}`);
  return [`${file}: ${(total / 1000).toFixed(0)} ms`, ...lines].join('\n');
}

export function reportCpuProfiles(folder: string): string {
  if (!existsSync(folder)) return 'No CPU profile was written.';
  const files = readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'));
  return files.map((name) => reportOf(join(folder, name))).join('\n\n');
}
