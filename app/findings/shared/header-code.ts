/** A response header as it should be sent, for rules whose fix is one line. */
import type { Finding, FixCode } from '../../profiler/finding.ts';
import type { Profile } from '../../profiler/profile.ts';

interface Header {
  name: string;
  value: string;
}

/** Response headers of a profile as pages read it. */
function headersOf({ panels }: Profile): readonly Header[] {
  const data = panels.request?.data as { response?: { headers?: readonly Header[] } | null } | null;
  return data?.response?.headers ?? [];
}

/** All values of a header, as one; empty if it was not sent. */
export function sentValue(profile: Profile, name: string): string {
  return headersOf(profile)
    .filter((header) => header.name.toLowerCase() === name)
    .map(({ value }) => value)
    .join(', ');
}

/** Lower-case name of the header that a finding points at; null if it points at none. */
export function headerAt({ anchor = '' }: Finding, profile: Profile): string | null {
  return headersOf(profile)[Number(anchor.slice('rh-'.length)) - 1]?.name.toLowerCase() ?? null;
}

export function directivesIn(value: string): string[] {
  return value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

export function headerCode(name: string, values: readonly string[], assumes: string): FixCode {
  return { language: 'http', text: `${name}: ${values.join(', ')}`, assumes };
}
