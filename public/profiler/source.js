// A place (data-source) shows its source on the page it stands on, in a dialog; e opens the editor (data-editor) instead. Without script it is a
// link to the same, as a page.
import { element, fetchPart, opensElsewhere, say } from './page.js';

function createDialog() {
  const dialog = element('dialog', { id: 'at', 'aria-labelledby': 'source-h' });
  dialog.addEventListener('keydown', (event) => {
    if (event.key !== 'e' || event.ctrlKey || event.metaKey || event.altKey) return;
    dialog.querySelector('[data-key=e]')?.click();
  });
  // A click beside it, on the backdrop.
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  return dialog;
}

async function show(link) {
  const source = await fetchPart(link.href, 'source');
  if (source === null) return;
  const dialog = document.getElementById('at') ?? createDialog();
  source.querySelector('[data-close]').textContent = 'Close';
  dialog.replaceChildren(document.importNode(source, true));
  if (!dialog.open) dialog.showModal();
  dialog.querySelector('.hot')?.scrollIntoView({ block: 'center' });
  say(`Source of ${link.textContent}`);
}

// False where the browser should follow the link: in another tab, or on the page of a source.
export function showSource(event, link) {
  if (opensElsewhere(event) || document.querySelector('main > #source') !== null) return false;
  show(link).catch(() => location.assign(link.href));
  return true;
}

// The place that has the focus, or that the pointer is on.
export function openEditor() {
  const place = document.querySelector('[data-editor]:is(:focus, :hover)');
  if (place !== null) location.assign(place.dataset.editor);
}
