/** The filters of a page, masked as what is stored was: a secret typed here is shown on no page, and still finds its own. */
import { type Filters, readFilters } from './filters.ts';
import type { PageRequest, PageServices } from './page-services.ts';

export function readListFilters(
  { redactText }: Pick<PageServices, 'redactText'>,
  { query }: Pick<PageRequest, 'query'>,
): Filters {
  const masked = Array.from(query, ([name, value]) => [name, redactText(value)] as [string, string]);
  return readFilters(new URLSearchParams(masked));
}
