// The keyboard: j k o x e / ? D of ours; data-key and, after g, data-go from the markup. Not while typing, and with a modifier only Ctrl K.
import { markForComparison } from './compare.js';
import { element } from './page.js';
import { openEditor } from './source.js';
import { nextTheme } from './theme.js';

const dialog = () => document.getElementById('keys');
// The element of a row that j and k focus; rows without one are skipped.
const STOPS = 'a, summary, button';
let going = false;

// Milliseconds in which the letter after g is waited for.
const GOES_FOR = 1500;
const kbd = (key) => element('kbd', {}, key);

function listPlaces() {
  const list = document.querySelector('#keys dl');
  for (const link of document.querySelectorAll('[data-go]')) {
    const { go } = link.dataset;
    // The home link is the brand; a panel's is its title, without the figure beside it.
    const place = go === 'h' ? 'Home: the list of requests' : link.firstChild.textContent.trim();
    list?.append(element('dt', {}, kbd('g'), ' then ', kbd(go)), element('dd', {}, place));
  }
}

// The help lists what works on this page only.
export function trimKeys() {
  listPlaces();
  for (const term of document.querySelectorAll('#keys [data-needs]')) {
    if (document.querySelector(term.dataset.needs) !== null) continue;
    term.nextElementSibling?.remove();
    term.remove();
  }
}

export function openKeys() {
  if (!dialog()?.open) dialog()?.showModal();
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
  e: openEditor,
  g: () => {
    going = true;
    setTimeout(() => {
      going = false;
    }, GOES_FOR);
  },
};

// Ctrl K, or ⌘ K: the search box, from everywhere.
function goesToSearch(event) {
  const box = document.getElementById('q');
  if (event.key !== 'k' || event.ctrlKey === event.metaKey || event.altKey || event.shiftKey || box === null)
    return false;
  event.preventDefault();
  dialog()?.close();
  box.select();
  if (box.value === '') box.dispatchEvent(new Event('input', { bubbles: true }));
  return true;
}

export function onKey(event) {
  if (goesToSearch(event)) return;
  // On some keyboards [ and ] need AltGr, which counts as Ctrl and Alt.
  if ((event.ctrlKey || event.metaKey || event.altKey) && !event.getModifierState('AltGraph')) return;
  if (
    event.target.closest?.('input, select, textarea, [contenteditable]') ||
    document.querySelector('dialog[open]') !== null
  )
    return;
  if (going) {
    going = false;
    document.querySelector(`[data-go="${CSS.escape(event.key)}"]`)?.click();
    return;
  }
  const action = Object.hasOwn(actions, event.key) ? actions[event.key] : undefined;
  const named = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (action === undefined && named === null) return;
  event.preventDefault();
  // What the page names goes first: on the page of a source, e is its link to the editor.
  if (named === null) action();
  else if (named.matches('input')) named.focus();
  else named.click();
}
