// The profiler's pages in the browser: theme, local times, rows that open, copy, filter, folds, keyboard, waterfall. Every page is complete without it.
// The markup declares what it acts on: data-theme-toggle, data-copy, data-copy-page,
// data-filter, data-fold, data-key, data-go, data-confirm, data-live, data-source, data-editor, data-zoom.
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
import { showSource } from './source.js';
import { applyTheme, nextTheme, rememberedTheme } from './theme.js';
import { showLocalTimes, startAges } from './times.js';
import { startWaterfall } from './waterfall.js';

function onClick(event) {
  const at = event.target.closest(
    '[data-copy], [data-copy-page], [data-source], .wf-box th a[href*="#"], [data-fold], [data-theme-toggle], [href="#keys"], [data-close]',
  );
  if (at === null) return;
  if (at.matches('[data-copy], [data-copy-page]')) {
    const opensElsewhere = at.href && (event.ctrlKey || event.metaKey || event.shiftKey);
    const copy = at.matches('[data-copy-page]') ? copyPage : copyFrom;
    if (!opensElsewhere && copy(at)) event.preventDefault();
    return;
  }
  if (at.matches('[data-source]')) {
    if (showSource(event, at)) event.preventDefault();
    return;
  }
  if (at.matches('.wf-box a')) {
    if (showBeside(event, at)) event.preventDefault();
    return;
  }
  // Outside a dialog it is an ordinary link.
  if (at.matches('[data-close]')) {
    if (closeDialog(at)) event.preventDefault();
    return;
  }
  event.preventDefault();
  if (at.matches('[data-fold]')) toggleFold(at);
  else if (at.matches('[data-theme-toggle]')) nextTheme();
  else openKeys();
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
