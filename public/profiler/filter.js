// A filter box narrows the rows of the table or list that data-filter names, while one types. Where a page holds a part of the rows
// only (data-total), Enter sends the form, and the server looks through all of them.
import { element, say } from './page.js';

const ROWS = ':scope > tbody > tr, :scope > li, :scope > [data-row]';

// A row of what is folded into the row before it (class "in") goes with that row.
function rowsOf(host) {
  const rows = [];
  for (const row of host.querySelectorAll(ROWS)) {
    if (row.matches('.in') && rows.length > 0) rows.at(-1).push(row);
    else rows.push([row]);
  }
  return rows;
}

function countOf(input, shown, rows) {
  if (input.value.trim() === '') return '';
  const total = Number(input.dataset.total ?? 0);
  const more = total > rows && input.form !== null ? `; press Enter to search all ${total}` : '';
  return `${shown} of ${rows} shown${more}`;
}

// The number of shown rows stands beside the box, and is announced.
function tell(input, text) {
  let count = input.nextElementSibling;
  if (!count?.matches('.shown')) {
    count = element('span', { class: 'shown say' });
    input.after(count);
  }
  count.textContent = text;
  say(text);
}

export function filterRows(input) {
  const host = document.getElementById(input.dataset.filter);
  if (host === null) return;
  const wanted = input.value.trim().toLowerCase();
  const rows = rowsOf(host);
  let shown = 0;
  for (const parts of rows) {
    const hidden = wanted !== '' && !parts.some((part) => part.textContent.toLowerCase().includes(wanted));
    for (const part of parts) part.hidden = hidden;
    if (!hidden) shown += 1;
  }
  tell(input, countOf(input, shown, rows.length));
}
