// Marks a request for comparison: x or its box on a row of a list, x on a profile; x on a second one opens both side by side.
// The mark stays in this browser; the main menu and the box of the row show it.
import { remember, remembered, say } from './page.js';

const STORED_MARK = 'hindsight.compare';
const TOKEN = /^[0-9a-f]{6}$/;

function marked() {
  const token = remembered(STORED_MARK);
  return TOKEN.test(token ?? '') ? token : null;
}

// The token of the row that has the focus, else of the profile that is shown.
function tokenHere() {
  const row = document.activeElement?.closest('tr[id^="r-"]');
  const token = row ? row.id.slice(2) : document.getElementById('token')?.textContent;
  return TOKEN.test(token ?? '') ? token : null;
}

// The menu's link to comparisons names the mark, and leads on from it; the marked row is set off.
export function showMark() {
  const token = marked();
  const link = document.querySelector('[data-compare]');
  if (link !== null) {
    link.href = token === null ? link.dataset.compare : `${link.dataset.compare}?a=${token}`;
    link.textContent = token === null ? 'Compare' : `Compare ${token}`;
  }
  for (const row of document.querySelectorAll('tr[id^="r-"]'))
    row.classList.toggle('marked', row.id === `r-${token}`);
  const box = boxOf(token);
  if (box) box.checked = true;
  allowComparison();
}

const boxOf = (token) => document.querySelector(`#found [name=t][value="${token}"]`);
const ticked = () => [...document.querySelectorAll('#found [name=t]:checked')];

function allowComparison() {
  const button = document.getElementById('compare');
  if (button === null) return;
  button.disabled = ticked().length !== 2;
  button.title = button.disabled ? 'Select two requests first' : '';
}

// A ticked box is the mark; with several, the last one ticked.
export function onTick(box) {
  if (box.checked) remember(STORED_MARK, box.value);
  else if (marked() === box.value) remember(STORED_MARK, ticked().at(-1)?.value ?? null);
  showMark();
}

export function markForComparison() {
  const token = tokenHere();
  if (token === null) {
    say('Move to a request first, with j and k.');
    return;
  }
  const before = marked();
  const box = boxOf(token);
  if (box && before === token) box.checked = false;
  if (before !== null && before !== token) {
    remember(STORED_MARK, null);
    location.assign(`${document.querySelector('[data-compare]').dataset.compare}?a=${before}&b=${token}`);
    return;
  }
  if (!remember(STORED_MARK, before === token ? null : token))
    say('The browser blocked its storage, so the mark was not saved.');
  else if (before === token) say(`${token} is no longer marked for comparison.`);
  else say(`${token} is marked for comparison; press x on another request to compare both.`);
  showMark();
}
