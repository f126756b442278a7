// Elements from data. Nothing here parses text as markup, so values stay text, and a policy that requires trusted types has nothing to
// refuse. Namespaces are named for XHTML documents.
import { cutText, wholeOf } from './format.js';

const XHTML = 'http://www.w3.org/1999/xhtml';
const SVG = 'http://www.w3.org/2000/svg';

function make(namespace, name, attributes, parts) {
  const made = document.createElementNS(namespace, name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== null && value !== undefined) made.setAttribute(key, value);
  made.append(...parts.filter((part) => part !== null && part !== undefined && part !== ''));
  return made;
}

/** `parts` are elements or texts; null and empty ones are left out. */
export function element(name, attributes, ...parts) {
  return make(XHTML, name, attributes, parts);
}

export function shape(name, attributes, ...parts) {
  return make(SVG, name, attributes, parts);
}

export function span(className, ...parts) {
  return element('span', { class: className }, ...parts);
}

/** A value of the application: it may read from right to left, and be of any length. */
export function foreign(value, most = 160) {
  return element('bdi', {}, cutText(value, most));
}

export function toneClass(tone) {
  return tone === 'bad' || tone === 'warn' ? tone : '';
}

export function badge(text, tone) {
  return span(`badge ${toneClass(tone)}`.trim(), cutText(text, 24));
}

/** Without a status the request is running, or its process ended. */
export function statusChip(status) {
  return span(`status s${status === null ? '' : String(status)[0]}`, status === null ? '…' : String(status));
}

export function icon(d) {
  const attributes = { class: 'icon', viewBox: '0 0 16 16', 'aria-hidden': 'true' };
  return shape('svg', attributes, shape('path', { d }));
}

/** In the colour of a kind of work. */
function ofKind(kind, made) {
  made.style.setProperty('--k', `var(--k-${kind})`);
  return made;
}

export function kindDot(kind) {
  return ofKind(kind, span('dot'));
}

/** Where the time went, each part as long as its share; the words stand beside it. */
export function partsBar(parts) {
  const whole = wholeOf(parts);
  let from = 0;
  const bars = parts.map(({ kind, ms }) => {
    const x = `${((from / whole) * 100).toFixed(2)}%`;
    from += ms;
    const width = `${((ms / whole) * 100).toFixed(2)}%`;
    return ofKind(kind, shape('rect', { x, width, height: '100%' }));
  });
  return shape('svg', { class: 'parts', 'aria-hidden': 'true' }, ...bars);
}
