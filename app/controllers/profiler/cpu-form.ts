/** The form that lets the next request to the address of a profile be sampled. */
import { createError } from '../../errors.ts';
import type { CpuSampler } from '../../profiler/record/cpu-samples.ts';
import type { Profile } from '../../profiler/profile.ts';
import { pathOf } from '../../profiler/request-target.ts';

export function cpuFormOf({ kind, method, url }: Profile, cpu: CpuSampler | undefined) {
  if (kind !== 'request' || cpu === undefined || cpu.isOff) return null;
  return { address: `${method} ${pathOf(url)}`, isArmed: cpu.isArmed({ method, url }) };
}

export function armCpu(profile: Profile, cpu: CpuSampler | undefined): string {
  const form = cpuFormOf(profile, cpu);
  if (form === null)
    throw createError('BAD_REQUEST', ['CPU profiles are off (PROFILER_CPU), or this is not a request.']);
  cpu?.arm(profile);
  return form.address;
}
