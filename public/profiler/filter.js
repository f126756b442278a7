// A filter box narrows the rows of the table or list that data-filter names.
import { say } from './say.js';

export function filterRows(input) {
  const wanted = input.value.trim().toLowerCase();
  const host = document.getElementById(input.dataset.filter);
  const rows = [...(host?.querySelectorAll('tbody > tr, :scope > li') ?? [])];
  let shown = 0;
  for (const row of rows) {
    row.hidden = wanted !== '' && !row.textContent.toLowerCase().includes(wanted);
    if (!row.hidden) shown += 1;
  }
  say(wanted === '' ? '' : `${shown} of ${rows.length} rows`);
}
