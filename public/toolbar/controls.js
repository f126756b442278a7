// The buttons at the end of the bar.
import { element, icon } from './draw.js';

const ICONS = { move: 'M8 2v12M2 8h12M6 4l2-2 2 2M6 12l2 2 2-2M4 6l-2 2 2 2M12 6l2 2-2 2', fold: 'M4 8h8', close: 'M4 4l8 8M12 4l-8 8' }; // prettier-ignore

export function control(name, title) {
  return element(
    'button',
    { type: 'button', class: 'control', title, 'aria-label': title, tabindex: '-1' },
    icon(ICONS[name]),
  );
}
