// The buttons at the end of the bar, and the one that is dragged.
import { element, icon } from './draw.js';

const ICONS = { move: 'M8 2v12M2 8h12M6 4l2-2 2 2M6 12l2 2 2-2M4 6l-2 2 2 2M12 6l2 2-2 2', fold: 'M4 8h8', close: 'M4 4l8 8M12 4l-8 8' }; // prettier-ignore

export function control(name, title) {
  return element(
    'button',
    { type: 'button', class: 'control', title, 'aria-label': title, tabindex: '-1' },
    icon(ICONS[name]),
  );
}

const DRAG_FROM = 8;

/** `onDrag(x, y)` follows the pointer wherever it goes; a press without a drag is `onClick`. */
export function watchDrag(grip, { onDrag, onClick }) {
  let isDragged = false;

  function begin({ button, clientX: fromX, clientY: fromY }) {
    isDragged = false;
    if (button !== 0) return;
    function onMove({ clientX, clientY }) {
      isDragged ||= Math.hypot(clientX - fromX, clientY - fromY) > DRAG_FROM;
      if (isDragged) onDrag(clientX, clientY);
    }
    function onEnd() {
      removeEventListener('pointermove', onMove, true);
      removeEventListener('pointerup', onEnd, true);
      removeEventListener('pointercancel', onEnd, true);
    }
    addEventListener('pointermove', onMove, true);
    addEventListener('pointerup', onEnd, true);
    addEventListener('pointercancel', onEnd, true);
  }

  grip.addEventListener('pointerdown', begin);
  grip.addEventListener('click', () => {
    if (!isDragged) onClick();
    isDragged = false;
  });
}
