/** The packages of the application, for advice about those that it uses. */
import { isRecord } from '../../profiler/json.ts';

/** `configuration`: what the configuration panel shares. */
export function packagesIn(configuration: unknown): string[] {
  const { packages } = isRecord(configuration) ? configuration : {};
  return (Array.isArray(packages) ? packages : []).map((one) => String(one).split(' ')[0] ?? '');
}
