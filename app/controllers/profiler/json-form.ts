/**
 * The JSON forms of the pages. Each begins with the address of its JSON Schema (public/profiler/schema.json) and its version. A member
 * that is added leaves the version as it is; one that is removed, renamed or changes its meaning raises it.
 */
import { urls } from '../../urls.ts';

const VERSIONS = { list: 1, profile: 1, panel: 1, routes: 1, comparison: 1, health: 1 } as const;

export function jsonForm(form: keyof typeof VERSIONS, members: object): string {
  return JSON.stringify({ schema: urls.schema(form), version: VERSIONS[form], ...members });
}
