// A row of a waterfall opens its detail beside it: the row of the panel that its link leads to, fetched from there. Without script, and in a
// new tab, it is that link. Escape closes it.
import { say } from './say.js';

let asked = 0;
let opener = null;

function createPane() {
  const pane = document.createElement('aside');
  pane.id = 'row-detail';
  pane.setAttribute('aria-label', 'Detail');
  document.body.append(pane);
  return pane;
}

function button(text, act) {
  const made = document.createElement('button');
  made.className = 'btn';
  made.type = 'button';
  made.textContent = text;
  made.addEventListener('click', act);
  return made;
}

export function closeBeside() {
  const pane = document.getElementById('row-detail');
  if (pane === null) return false;
  pane.remove();
  opener?.focus();
  return true;
}

// A row of a table needs a table around it.
function detailOf(row, page) {
  const made = document.importNode(row, true);
  for (const fold of made.querySelectorAll('details')) fold.open = true;
  for (const copy of made.querySelectorAll('.copy')) copy.remove();
  for (const one of [made, ...made.querySelectorAll('[id]')]) one.removeAttribute('id');
  const list = row.closest('ol.queries, table');
  if (list === null) return made;
  const around = page.importNode(list, false);
  around.removeAttribute('id');
  around.append(made);
  return around;
}

async function show(link) {
  const number = ++asked;
  const response = await fetch(link.href);
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  const row = page.getElementById(decodeURIComponent(new URL(link.href).hash.slice(1)));
  if (!response.ok || row === null) throw new Error(`${response.status}`);
  if (number !== asked) return;
  const pane = document.getElementById('row-detail') ?? createPane();
  const open = document.createElement('a');
  open.className = 'btn';
  open.href = link.href;
  open.textContent = 'Open in its panel';
  const tools = document.createElement('div');
  tools.className = 'actions';
  tools.append(open, button('Close', closeBeside));
  pane.replaceChildren(tools, detailOf(row, document));
  opener = link;
  tools.lastElementChild.focus();
  say(`Detail of ${link.textContent}`);
}

// False if the browser should follow the link.
export function showBeside(event, link) {
  if (event.ctrlKey || event.metaKey || event.shiftKey || new URL(link.href).hash === '') return false;
  show(link).catch(() => location.assign(link.href));
  return true;
}
