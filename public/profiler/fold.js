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

// The row that the address points at is shown, whatever it is folded into.
export function openTarget() {
  const target = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
  for (let fold = target?.closest('details'); fold; fold = fold.parentElement?.closest('details'))
    fold.open = true;
  const rows = target?.closest('tbody[hidden]');
  if (rows) rows.hidden = false;
}
