// A row of a waterfall opens its detail beside it: the row of the panel that its link leads to, fetched from there. Without script, and in a
// new tab, it is that link. Escape closes it.
import { element, fetchPart, opensElsewhere, say } from './page.js';

let opener = null;

function createPane() {
  const pane = element('aside', { id: 'row-detail', 'aria-label': 'Detail' });
  document.body.append(pane);
  return pane;
}

export function closeBeside() {
  const pane = document.getElementById('row-detail');
  if (pane === null) return false;
  pane.remove();
  opener?.focus();
  return true;
}

// A row of a table needs a table around it.
function detailOf(row) {
  const made = document.importNode(row, true);
  for (const fold of made.querySelectorAll('details')) fold.open = true;
  for (const copy of made.querySelectorAll('.copy')) copy.remove();
  for (const one of [made, ...made.querySelectorAll('[id]')]) one.removeAttribute('id');
  const list = row.closest('ol.queries, table');
  if (list === null) return made;
  const around = document.importNode(list, false);
  around.removeAttribute('id');
  around.append(made);
  return around;
}

async function show(link) {
  const row = await fetchPart(link.href, decodeURIComponent(link.hash.slice(1)));
  if (row === null) return;
  const pane = document.getElementById('row-detail') ?? createPane();
  const open = element('a', { class: 'btn', href: link.href }, 'Open in its panel');
  const close = element('button', { class: 'btn', type: 'button' }, 'Close');
  close.addEventListener('click', closeBeside);
  pane.replaceChildren(element('div', { class: 'actions' }, open, close), detailOf(row));
  opener = link;
  close.focus();
  say(`Detail of ${link.textContent}`);
}

// False if the browser should follow the link.
export function showBeside(event, link) {
  if (opensElsewhere(event) || link.hash === '') return false;
  show(link).catch(() => location.assign(link.href));
  return true;
}
