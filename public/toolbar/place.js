// The corner of the bar, and whether it is folded or closed. The browser remembers it for this origin.

import { quietly } from './hooks.js';

const NAME = 'hindsight.toolbar';
/** Clockwise, from where it begins. */
const CORNERS = ['bl', 'tl', 'tr', 'br'];
export const CORNER_NAMES = { bl: 'bottom left', tl: 'top left', tr: 'top right', br: 'bottom right' };

export function createPlace(onChange) {
  const { corner, folded, closed } = quietly(() => JSON.parse(localStorage.getItem(NAME))) ?? {};
  let now = {
    corner: CORNERS.includes(corner) ? corner : 'bl',
    folded: folded === true,
    closed: closed === true,
  };

  function change(fields) {
    now = { ...now, ...fields };
    // If storage is refused, the change is for this page only.
    quietly(() => localStorage.setItem(NAME, JSON.stringify(now)));
    onChange(now);
  }

  return {
    get: () => now,
    fold: (isFolded) => change({ folded: isFolded }),
    close: () => change({ closed: true }),
    open: () => change({ closed: false, folded: false }),
    next: () => change({ corner: CORNERS[(CORNERS.indexOf(now.corner) + 1) % CORNERS.length] }),
    /** By the key that was pressed; only arrows change anything. */
    towards(key) {
      const [vertical, horizontal] = now.corner;
      const moved = {
        ArrowUp: `t${horizontal}`,
        ArrowDown: `b${horizontal}`,
        ArrowLeft: `${vertical}l`,
        ArrowRight: `${vertical}r`,
      };
      const to = Object.hasOwn(moved, key) ? moved[key] : now.corner;
      if (to !== now.corner) change({ corner: to });
    },
  };
}
