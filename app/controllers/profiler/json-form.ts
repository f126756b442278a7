/**
 * The JSON forms of the pages. Each begins with its name and its version. A member that is added leaves the version as it is; one that is
 * removed, renamed or changes its meaning raises it. docs/guides/agents.md lists the members.
 */
const VERSIONS = { list: 1, profile: 1, panel: 1, routes: 1, comparison: 1, health: 1 } as const;

export function jsonForm(form: keyof typeof VERSIONS, members: object): object {
  return { form, version: VERSIONS[form], ...members };
}
