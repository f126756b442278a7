/** The bodies of a request as values to compare: each leaf of JSON by its path, other text as a whole. */
import { dataOf } from '../../../panels/shared/panel-data.ts';
import type { ComparedValue } from '../../../profiler/read/comparable.ts';
import { isRecord, parseJson } from '../../../profiler/json.ts';
import type { Profile } from '../../../profiler/profile.ts';
import { withoutNumbers } from '../../../profiler/masking/redact.ts';

interface Body {
  bytes: number;
  text: string | null;
  truncated: boolean;
}

const PLAIN_NAME = /^[A-Za-z_$][\w$]*$/;
const MOST_LEAVES = 2000;

function* leavesOf(value: unknown, path: string): Generator<[path: string, leaf: unknown]> {
  const members: [string, unknown][] = Array.isArray(value)
    ? value.map((item, index) => [`[${index}]`, item])
    : isRecord(value)
      ? Object.entries(value).map(([name, item]) => [
          PLAIN_NAME.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`,
          item,
        ])
      : [];
  if (members.length === 0) yield [path, value];
  for (const [step, item] of members) yield* leavesOf(item, path + step);
}

function valuesOf(section: string, body: Body | null): ComparedValue[] {
  if (body === null) return [];
  const { text, bytes, truncated } = body;
  if (text === null) return bytes === 0 ? [] : [{ section, name: 'bytes', value: String(bytes) }];
  const value = (name: string, shown: string): ComparedValue => ({
    section,
    name,
    value: withoutNumbers(shown),
  });
  if (truncated) return [value('its first part', text), { section, name: 'bytes', value: String(bytes) }];
  const parsed = parseJson(text);
  if (parsed === undefined) return text === '' ? [] : [value('text', text)];
  return [...leavesOf(parsed, '$')]
    .slice(0, MOST_LEAVES)
    .map(([path, leaf]) => value(path, JSON.stringify(leaf)));
}

export function bodyValues(profile: Profile): ComparedValue[] {
  const recorded = dataOf(profile, 'request');
  if (recorded === null) return [];
  const { body, response } = recorded;
  return [
    ...valuesOf('request body', body),
    ...(response?.isErrorPage === true ? [] : valuesOf('response body', response)),
  ];
}

export function knownResponse(profile: Profile): 'all' | 'part' | 'nothing' {
  const response = dataOf(profile, 'request')?.response ?? null;
  if (response === null || response.isErrorPage || (response.text === null && response.bytes > 0))
    return 'nothing';
  return response.truncated ? 'part' : 'all';
}
