// The profiler's pages in the browser: theme, local times, rows that open, copy, filter, folds, keyboard, waterfall. Every page is complete without it.
// The markup declares what it acts on, by data-… attributes.
import { closeBeside, showBeside } from './beside.js';
import { onTick, showMark } from './compare.js';
import { closeDialog, onSubmit } from './confirm.js';
import { addCopyButtons, copyFrom, copyPage } from './copy.js';
import { filterRows } from './filter.js';
import { startFinding } from './find.js';
import { closeFolds, noteFold, openTarget, toggleFold } from './fold.js';
import { onKey, openKeys, trimKeys } from './keys.js';
import { startLive } from './live.js';
import { openRow } from './open-row.js';
import { opensElsewhere } from './page.js';
import { showSource } from './source.js';
import { applyTheme, nextTheme, rememberedTheme } from './theme.js';
import { showLocalTimes, startAges } from './times.js';
import { startWaterfall } from './waterfall.js';

// What a click on each of them does; false if the browser should follow the link.
const CLICKS = {
  '[data-copy-page]': (event, link) => !opensElsewhere(event) && copyPage(link),
  '[data-copy]': (event, at) => !(at.href && opensElsewhere(event)) && copyFrom(at),
  '[data-source]': showSource,
  '.wf-box th a[href*="#"]': showBeside,
  '[data-fold]': (_event, link) => toggleFold(link),
  '[data-theme-toggle]': nextTheme,
  '[href="#keys"]': openKeys,
  // Outside a dialog it is an ordinary link.
  '[data-close]': (_event, link) => closeDialog(link),
};

function onClick(event) {
  for (const [selector, act] of Object.entries(CLICKS)) {
    const at = event.target.closest(selector);
    if (at === null) continue;
    if (act(event, at) !== false) event.preventDefault();
    return;
  }
}

function start() {
  applyTheme(rememberedTheme());
  showLocalTimes();
  addCopyButtons();
  trimKeys();
  closeFolds();
  openTarget();
  showMark();
  document.addEventListener('click', onClick);
  document.addEventListener('click', openRow);
  document.addEventListener('click', noteFold);
  document.addEventListener('auxclick', openRow);
  document.addEventListener('input', (event) => {
    if (event.target.matches('[data-filter]')) filterRows(event.target);
    else if (event.target.matches('#found [name=t]')) onTick(event.target);
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && closeBeside()) event.preventDefault();
    else onKey(event);
  });
  document.addEventListener('submit', onSubmit);
  startLive();
  startAges();
  startFinding();
  document.querySelectorAll('[data-zoom]').forEach(startWaterfall);
  window.addEventListener('hashchange', openTarget);
}

applyTheme(rememberedTheme());
document.documentElement.classList.add('js');
if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start);
else start();
