// data-copy names an element to read; empty means the value of the row, or the code of the section, that the button stands in.
// Remarks of ours (.say) are no part of a value, and of a folded one the whole is copied.
import { say } from './say.js';

const SHOWN_FOR = 1200;

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
  if (!value.matches('pre')) return value.textContent.trim();
  return [...value.children].map((line) => line.textContent).join('\n');
}

function confirmCopy(button) {
  const use = button.querySelector('use');
  const before = use?.getAttribute('href') ?? '';
  use?.setAttribute('href', before.replace(/#.*/, '#done'));
  button.classList.add('copied');
  say('Copied');
  setTimeout(() => {
    use?.setAttribute('href', before.replace(/#done$/, '#copy'));
    button.classList.remove('copied');
  }, SHOWN_FOR);
}

// True where there is something to copy on this page.
export function copyFrom(button) {
  const place = findCopied(button);
  if (place === null || navigator.clipboard === undefined) return false;
  navigator.clipboard.writeText(textOf(place)).then(
    () => confirmCopy(button),
    () => say('The browser did not let us copy.'),
  );
  return true;
}
