// System, light or dark; remembered by this browser.
import { remember, remembered, say } from './page.js';

const MODES = ['system', 'light', 'dark'];
const STORED_THEME = 'hindsight.theme';

export function rememberedTheme() {
  const mode = remembered(STORED_THEME);
  return MODES.includes(mode) ? mode : 'system';
}

export function applyTheme(mode) {
  const root = document.documentElement;
  if (mode === 'system') delete root.dataset.theme;
  else root.dataset.theme = mode;
  for (const button of document.querySelectorAll('[data-theme-toggle]')) {
    button.title = `Theme: ${mode}`;
    button.setAttribute('aria-label', button.title);
  }
}

export function nextTheme() {
  const current = document.documentElement.dataset.theme ?? 'system';
  const mode = MODES[(MODES.indexOf(current) + 1) % MODES.length];
  remember(STORED_THEME, mode);
  applyTheme(mode);
  say(`Theme: ${mode}`);
}
