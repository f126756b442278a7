// The profiler's pages in the browser: theme, copy, filter, folds, keyboard. Every page is complete without it.
// What it acts on is declared in the markup: data-theme-toggle, data-copy, data-filter, data-fold, data-key, data-go.
import { showMark } from './compare.js';
import { addCopyButtons, copyFrom } from './copy.js';
import { filterRows } from './filter.js';
import { closeFolds, openTarget, toggleFold } from './fold.js';
import { closeKeys, onKey, openKeys, trimKeys } from './keys.js';
import { applyTheme, nextTheme, rememberedTheme } from './theme.js';

function onClick(event) {
  const at = event.target.closest(
    '[data-copy], [data-fold], [data-theme-toggle], [href="#keys"], [data-close]',
  );
  if (at === null) return;
  if (at.matches('[data-copy]')) {
    // A link whose text is not on this page leads to where it is.
    if (copyFrom(at)) event.preventDefault();
    return;
  }
  event.preventDefault();
  if (at.matches('[data-fold]')) toggleFold(at);
  else if (at.matches('[data-theme-toggle]')) nextTheme();
  else if (at.matches('[data-close]')) closeKeys();
  else openKeys();
}

function start() {
  applyTheme(rememberedTheme());
  addCopyButtons();
  trimKeys();
  closeFolds();
  openTarget();
  showMark();
  document.addEventListener('click', onClick);
  document.addEventListener('input', (event) => {
    if (event.target.matches('[data-filter]')) filterRows(event.target);
  });
  document.addEventListener('keydown', onKey);
  window.addEventListener('hashchange', openTarget);
}

applyTheme(rememberedTheme());
document.documentElement.classList.add('js');
if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start);
else start();
