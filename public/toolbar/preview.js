// The preview of an item, and when it opens and closes. It opens by pointing, by focus and by the first tap; it stays open while the pointer
// is on it or the focus in it, and Escape closes it (WCAG 2.2, 1.4.13).
import { count } from '../../app/view-helpers/number-texts.ts';
import { badge, element, foreign, span, toneClass } from './draw.js';

/** Long enough that crossing the bar opens nothing. */
const OPEN_AFTER_MS = 140;
/** Long enough to move the pointer from the item to its preview. */
const CLOSE_AFTER_MS = 280;

function factList(facts = []) {
  const said = facts.filter(([, value]) => value !== null && value !== undefined && value !== '');
  if (said.length === 0) return null;
  const rows = said.flatMap(([label, value]) => [
    element('dt', {}, String(label)),
    element('dd', {}, foreign(value, 200)),
  ]);
  return element('dl', {}, ...rows);
}

/** In a finding the badge is coloured, and the sentence is prose. */
function rowOf({ text, note, tone, href, badge: label }, ask) {
  const target = ask.url(href);
  const className = label === undefined ? `what ${toneClass(tone)}` : 'what prose';
  return element(
    'li',
    {},
    label === undefined ? null : span('kind', badge(label, tone)),
    element(target === null ? 'span' : 'a', { class: className, href: target }, foreign(text, 400)),
    note ? span('note', foreign(note, 80)) : null,
  );
}

function linkLine(href, { link, also }) {
  const others = also === undefined ? [] : [' · ', element('a', { href: also.href }, also.text)];
  return element('p', { class: 'go' }, element('a', { href }, link), ...others);
}

/** The content of the preview of an item. */
export function drawPreview({ href, preview }, ask) {
  const { title, facts, rows = [], moreRows = 0, more } = preview;
  return element(
    'div',
    {},
    element('h2', {}, foreign(title, 200)),
    ...(more?.() ?? []),
    factList(facts),
    rows.length > 0 ? element('ol', {}, ...rows.map((row) => rowOf(row, ask))) : null,
    rows.length > 0 && moreRows > 0 ? element('p', { class: 'lab' }, `and ${count(moreRows)} more`) : null,
    href === null ? null : linkLine(href, preview),
  );
}

/**
 * When a preview is open. `show(key)` is called with an item's key, or null for none. `hold()` says whether the focus is in the
 * preview or on its item, so that a pointer that leaves does not close it.
 */
export function createOpening({ show, hold }) {
  let open = null;
  let timer = 0;

  function set(key) {
    clearTimeout(timer);
    if (key === open) return;
    open = key;
    show(key);
    // Escape belongs to whatever has the focus: it is only listened to, and only while a preview is open.
    if (key === null) removeEventListener('keydown', onEscape, true);
    else addEventListener('keydown', onEscape, true);
  }

  function onEscape(event) {
    if (event.key === 'Escape') set(null);
  }

  return {
    get: () => open,
    set,
    point(key) {
      clearTimeout(timer);
      timer = setTimeout(() => set(key), open === null ? OPEN_AFTER_MS : OPEN_AFTER_MS / 2);
    },
    stay: () => clearTimeout(timer),
    leave() {
      clearTimeout(timer);
      timer = setTimeout(() => {
        if (!hold()) set(null);
      }, CLOSE_AFTER_MS);
    },
  };
}
