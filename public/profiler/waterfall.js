// A waterfall under the pointer: a line with the time, and a stretch to look at more closely by dragging. Without it, the fields above
// the waterfall do the same.
import { durationText } from '../../app/view-helpers/number-texts.ts';
import { set } from './page.js';

const SVG = 'http://www.w3.org/2000/svg';
const LEAST = 6;

function placeOf(box, event) {
  const track = box.querySelector('thead .track').getBoundingClientRect();
  const left = track.left - box.getBoundingClientRect().left;
  const x = Math.min(track.width, Math.max(0, event.clientX - track.left));
  const from = Number(box.dataset.from);
  return { left, x, ms: from + (x / track.width) * (Number(box.dataset.to) - from) };
}

function overlayOf(box) {
  const known = box.querySelector('.wf-over');
  if (known !== null) return known;
  const overlay = document.createElementNS(SVG, 'svg');
  set(overlay, { class: 'wf-over', 'aria-hidden': 'true' });
  for (const name of ['rect', 'line', 'text']) overlay.append(document.createElementNS(SVG, name));
  box.append(overlay);
  return overlay;
}

/** `start`: where a drag began; null if there is none. */
function draw(box, event, start) {
  const { left, x, ms } = placeOf(box, event);
  const [range, line, label] = overlayOf(box).children;
  const from = start ?? { x, ms };
  set(range, { x: left + Math.min(x, from.x), y: 0, width: Math.abs(x - from.x), height: '100%' });
  set(line, { x1: left + x, x2: left + x, y1: 0, y2: '100%' });
  const isLeft = left + x > box.clientWidth - 140;
  set(label, { x: left + x + (isLeft ? -6 : 6), y: 14, 'text-anchor': isLeft ? 'end' : 'start' });
  label.textContent =
    start === null
      ? durationText(ms)
      : `${durationText(Math.min(ms, start.ms))} to ${durationText(Math.max(ms, start.ms))}`;
}

export function startWaterfall(box) {
  let start = null;
  const clear = () => {
    start = null;
    box.querySelector('.wf-over')?.remove();
  };
  box.addEventListener('pointermove', (event) => {
    if (event.pointerType !== 'touch' && (start !== null || event.target.closest('.track') !== null))
      draw(box, event, start);
    else if (start === null) clear();
  });
  box.addEventListener('pointerleave', () => {
    if (start === null) clear();
  });
  box.addEventListener('pointerdown', (event) => {
    if (event.button !== 0 || event.pointerType === 'touch' || event.target.closest('tbody .track') === null)
      return;
    // No text is selected meanwhile.
    event.preventDefault();
    start = placeOf(box, event);
    box.setPointerCapture(event.pointerId);
  });
  box.addEventListener('pointerup', (event) => {
    if (start === null) return;
    const [a, b] = [start, placeOf(box, event)];
    clear();
    if (Math.abs(a.x - b.x) < LEAST) return;
    const to = new URL(box.dataset.zoom, location.href);
    to.searchParams.set('from', Math.max(0, Math.min(a.ms, b.ms)).toFixed(2));
    to.searchParams.set('to', Math.max(a.ms, b.ms).toFixed(2));
    location.assign(to);
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && start !== null) clear();
  });
}
