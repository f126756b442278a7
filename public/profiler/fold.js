// Folded rows: a link that opens and closes the rows after it. Without script they are open.
export function toggleFold(link) {
  const body = document.getElementById(link.hash.slice(1));
  if (body === null) return;
  body.hidden = !body.hidden;
  link.setAttribute('aria-expanded', String(!body.hidden));
}

// Those in `open` stay so.
export function closeFolds(open = new Set()) {
  for (const link of document.querySelectorAll('[data-fold]')) {
    if ('open' in link.dataset || open.has(link.hash)) link.setAttribute('aria-expanded', 'true');
    else toggleFold(link);
  }
}

// The rows with an id whose details are what they fold: statements, calls, log lines.
const ROW = 'main :is(li, tr)[id]';
const OWN_FOLDS = ':is(:scope, :scope > td) > details';

// The row that the address points at is shown, whatever it is folded into, and opened.
export function openTarget() {
  const target = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
  for (let fold = target?.closest('details'); fold; fold = fold.parentElement?.closest('details'))
    fold.open = true;
  if (target?.matches(ROW)) for (const fold of target.querySelectorAll(OWN_FOLDS)) fold.open = true;
  const rows = target?.closest('tbody[hidden]');
  if (rows) rows.hidden = false;
}

// Writes the row that is opened into the address, and takes it out when it is closed. `open` lets the server open a row, on whichever page it is.
export function noteFold(event) {
  const fold = event.target.closest('summary')?.parentElement;
  const row = fold?.closest(ROW);
  if (!row || event.defaultPrevented || ![...row.querySelectorAll(OWN_FOLDS)].includes(fold)) return;
  const url = new URL(location.href);
  if (fold.open && url.hash !== `#${row.id}`) return;
  url.hash = fold.open ? '' : row.id;
  if (fold.open) url.searchParams.delete('open');
  else if (row.matches('.queries > li')) url.searchParams.set('open', row.id);
  history.replaceState(history.state, '', url);
}
