// The keyboard: j k o x / ? D of ours; data-key and, after g, data-go from the markup. Not while typing, never with a modifier.
import { markForComparison } from './compare.js';
import { nextTheme } from './theme.js';

const dialog = () => document.getElementById('keys');
// What j and k stop at; a row without is passed over.
const STOPS = 'a, summary, button';
let going = false;

/** The help lists what works on this page only. */
export function trimKeys() {
  for (const term of document.querySelectorAll('#keys [data-needs]')) {
    if (document.querySelector(term.dataset.needs) !== null) continue;
    term.nextElementSibling?.remove();
    term.remove();
  }
}

export function openKeys() {
  if (!dialog()?.open) dialog()?.showModal();
}

export function closeKeys() {
  dialog()?.close();
}

function visibleRows() {
  const rows = document.querySelectorAll('main tbody tr, main .queries > li, main .frames > li');
  return [...rows].filter((row) => row.offsetParent !== null && row.querySelector(STOPS) !== null);
}

function step(by) {
  const rows = visibleRows();
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const row = rows[Math.min(rows.length - 1, Math.max(0, at + by))];
  row?.querySelector(STOPS)?.focus();
}

function openFold() {
  document.activeElement?.closest('details, tr')?.querySelector('summary, .unfold')?.click();
}

const actions = {
  j: () => step(1),
  k: () => step(-1),
  o: openFold,
  x: markForComparison,
  D: nextTheme,
  g: () => {
    going = true;
  },
};

export function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest('input, select, textarea') !== null || dialog()?.open) return;
  if (going) {
    going = false;
    document.querySelector(`[data-go="${CSS.escape(event.key)}"]`)?.click();
    return;
  }
  const action = Object.hasOwn(actions, event.key) ? actions[event.key] : undefined;
  const named = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (action === undefined && named === null) return;
  event.preventDefault();
  if (action !== undefined) action();
  else if (named.matches('input')) named.focus();
  else named.click();
}
