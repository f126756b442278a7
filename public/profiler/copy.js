// data-copy is the id of the element to copy; empty: the value of the button's row, or the code of its section.
// Our remarks (.say) are not copied, a folded value is copied whole, and a time is copied in UTC.
import { element, fetchPart, fetchText, say } from './page.js';

const SHOWN_FOR = 1200;

// The icon of a button; each page has one in its brand.
function setIcon(icon, name) {
  const use = icon.querySelector('use');
  use?.setAttribute('href', use.getAttribute('href').replace(/#.*/, `#${name}`));
}

function createButton(name, brand, copied = '') {
  const title = `Copy ${name.slice(0, 80)}`;
  const attributes = { class: 'ibtn copy', type: 'button', 'data-copy': copied, title, 'aria-label': title };
  const button = element('button', attributes, brand.cloneNode(true));
  setIcon(button, 'copy');
  return button;
}

// A copy button on each row of names and values and on the text of each row; made here because it needs script.
export function addCopyButtons() {
  const brand = document.querySelector('.brand svg');
  if (brand === null) return;
  for (const row of document.querySelectorAll('table.kv > tbody > tr')) {
    if (row.querySelector('td.act') !== null) continue;
    // A row with a button of its own has the column too: the first row decides the widths of all.
    const name = row.querySelector('th')?.textContent ?? '';
    const button = row.querySelector('.copy') === null ? createButton(name, brand) : '';
    row.append(element('td', { class: 'act' }, button));
  }
  for (const cell of document.querySelectorAll('.data tr[id] > td.wide > div')) {
    const text = cell.querySelector(':scope > .long, :scope > .fold > .long, :scope > bdi');
    const id = `${cell.closest('tr').id}-v`;
    if (text === null || document.getElementById(id) !== null) continue;
    text.id = id;
    cell.querySelector(':scope > bdi, :scope > .fold, :scope > .long').after(createButton('text', brand, id));
  }
}

function findCopied(button) {
  if (button.dataset.copy !== '') return document.getElementById(button.dataset.copy);
  const cell = button.closest('tr')?.querySelector('td');
  return (
    cell?.querySelector('.long') ?? cell ?? button.closest('.section, figure')?.querySelector('pre') ?? null
  );
}

function textOf(place) {
  const value = place.cloneNode(true);
  for (const remark of value.querySelectorAll('.say')) remark.remove();
  for (const time of value.querySelectorAll('time')) time.textContent = time.dateTime;
  if (!value.matches('pre') || value.children.length === 0) return value.textContent.trim();
  return [...value.children].map((line) => line.textContent).join('\n');
}

function confirmCopy(button) {
  setIcon(button, 'done');
  button.classList.add('copied');
  say('Copied');
  setTimeout(() => {
    setIcon(button, 'copy');
    button.classList.remove('copied');
  }, SHOWN_FOR);
}

const REFUSED = 'The browser refused to copy.';

// True if it copies: from this page, or from the page that the link leads to.
export function copyFrom(button) {
  const place = findCopied(button);
  if (navigator.clipboard === undefined) return false;
  if (place === null)
    return button.href
      ? copyFetched(button, fetchPart(button.href, button.dataset.copy).then(textOf))
      : false;
  navigator.clipboard.writeText(textOf(place)).then(
    () => confirmCopy(button),
    () => say(REFUSED),
  );
  return true;
}

// Copies the page that a link leads to.
export function copyPage(link) {
  return navigator.clipboard === undefined ? false : copyFetched(link, fetchText(link.href));
}

// Copies a promised text, as a promise: some browsers allow copying only during the click. If copying fails, the page of the link is
// opened.
function copyFetched(link, text) {
  const blob = text.then((whole) => new Blob([whole], { type: 'text/plain' }));
  navigator.clipboard.write([new window.ClipboardItem({ 'text/plain': blob })]).then(
    () => confirmCopy(link),
    () => location.assign(link.href),
  );
  return true;
}
