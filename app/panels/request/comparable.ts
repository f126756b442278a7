/** What came in and went out, as two profiles are compared by it: headers by name, each time one stands there. */
import type { Comparable, ComparedFigure, ComparedValue } from '../../profiler/comparable.ts';
import type { RequestPanelData } from './index.ts';

/** Differ between any two requests. */
const OF_ONE_REQUEST = new Set([
  'date', 'x-request-id', 'x-debug-token', 'x-debug-token-link', 'x-previous-debug-token', 'traceparent',
]); // prettier-ignore
const LENGTH = 300;

interface Named {
  name: string;
  value: unknown;
}

/** The second one of a name is another row than the first. */
function valuesOf(section: string, rows: readonly Named[]): ComparedValue[] {
  const seen = new Map<string, number>();
  return rows.flatMap(({ name, value }): ComparedValue[] => {
    const key = name.toLowerCase();
    if (OF_ONE_REQUEST.has(key)) return [];
    const before = seen.get(key) ?? 0;
    seen.set(key, before + 1);
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return [{ section, name: before === 0 ? name : `${name} (${before + 1})`, value: text.slice(0, LENGTH) }];
  });
}

/** None where it is not known. */
function figure(
  label: string,
  value: number | null | undefined,
  unit: ComparedFigure['unit'],
): ComparedFigure[] {
  return value === null || value === undefined ? [] : [{ label, value, unit, cost: true }];
}

export function comparableRequest(data: RequestPanelData): Comparable {
  const { response, body, headers, query, routeParams } = data;
  return {
    figures: [
      ...figure('Until the headers', response?.headersAtMs, 'ms'),
      ...figure('Response size', response?.bytes, 'bytes'),
      ...figure('Request size', body?.bytes, 'bytes'),
    ],
    values: [
      ...valuesOf('query', query),
      ...valuesOf('route parameter', routeParams),
      ...valuesOf('request header', headers),
      ...valuesOf('response header', response?.headers ?? []),
    ],
  };
}
