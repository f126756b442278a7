/**
 * The CPU profile of a request in the form of Chrome DevTools (`.cpuprofile`), which VS Code and speedscope open too: names of functions,
 * addresses of files and positions only. Time in which other work ran is idle there.
 */
import type { CpuSamples } from '../profiler/record/cpu-samples.ts';
import type { Profile } from '../profiler/profile.ts';

const NODE_NUMBERS = 4;
const ROOT = 1;
const IDLE = 2;
const FIRST = 3;

function nodeOf(
  id: number,
  functionName: string,
  position = { scriptId: '0', url: '', line: -1, column: -1 },
) {
  const { scriptId, url, line, column } = position;
  return {
    id,
    callFrame: { functionName, scriptId, url, lineNumber: line, columnNumber: column },
    hitCount: 0,
    children: [] as number[],
  };
}

export function cpuProfileFile({ panels, startedAt }: Pick<Profile, 'panels' | 'startedAt'>) {
  const kept = panels.cpu?.data as Partial<CpuSamples> | null | undefined;
  if (kept?.nodes === undefined || kept.functions === undefined || kept.runs === undefined) return null;
  const { nodes, functions, runs, runsStartMs = 0 } = kept;
  const file = [{ ...nodeOf(ROOT, '(root)'), children: [IDLE] }, nodeOf(IDLE, '(idle)')];
  for (let at = 0; at < nodes.length; at += NODE_NUMBERS) {
    const [parent = -1, index = 0] = nodes.slice(at, at + 2);
    const { name = '', url = '', line = -1, column = -1 } = functions[index] ?? {};
    const id = FIRST + at / NODE_NUMBERS;
    file.push(nodeOf(id, name, { scriptId: String(index), url, line, column }));
    (file[parent === -1 ? 0 : parent + FIRST - 1] ?? file[0])?.children.push(id);
  }
  const startTime = Math.round((startedAt + Math.max(0, runsStartMs)) * 1000);
  const samples: number[] = [];
  const timeDeltas: number[] = [];
  let before = 0;
  let early = Math.max(0, Math.round(-runsStartMs * 1000));
  // Each sample stands until the next one.
  for (let at = 0; at < runs.length; at += 2) {
    const node = runs[at] ?? -1;
    const us = runs[at + 1] ?? 0;
    const left = Math.max(0, us - early);
    early = Math.max(0, early - us);
    if (left === 0) continue;
    const id = node < 0 ? IDLE : node + FIRST;
    samples.push(id);
    timeDeltas.push(before);
    before = left;
    const one = file[id - 1];
    if (one !== undefined) one.hitCount++;
  }
  samples.push(IDLE);
  timeDeltas.push(before);
  const endTime = startTime + timeDeltas.reduce((sum, us) => sum + us, 0);
  return { nodes: file, startTime, endTime, samples, timeDeltas };
}
