/** How the profile of one request names another: `GET /reports/daily`. Without the query, which may hold secrets. */
import type { Context } from '../profiler/record/context.ts';

const LONGEST = 200;

export function requestName(context: Context): string {
  const request = context.first('request');
  const work = context.first('work');
  if (request !== undefined)
    return `${request.method} ${request.url.replace(/\?.*$/s, '')}`.slice(0, LONGEST);
  return work === undefined ? 'a request' : `${work.label} ${work.name}`.slice(0, LONGEST);
}
