// The bar in the page: a host element beside the body, and in its shadow root, out of reach of the page's styles, one line of items and one
// preview. For the keyboard it is one stop (the "toolbar" pattern of the ARIA practices). The page receives no events from it: its
// shortcuts, links and focus traps do not apply here.
import { element, foreign, icon, span, statusChip, toneClass } from './draw.js';
import { itemsOf, worstOf } from './items.js';
import { CORNER_NAMES } from './place.js';
import { createOpening, drawPreview } from './preview.js';

const HOST = 'hindsight-toolbar';
/** Not passed on to the page. Listeners for Escape and the bar's own keys capture, and so run before. */
const STOPPED = [
  'click', 'auxclick', 'dblclick', 'keydown', 'keyup', 'keypress', 'pointerdown', 'pointerup', 'mousedown', 'mouseup', 'touchstart',
  'touchend', 'focusin', 'focusout',
]; // prettier-ignore
const EDGE = 8;

/** A button at the end of the bar. `path`: of its icon. */
function control(title, path) {
  const attributes = { type: 'button', class: 'control', title, 'aria-label': title, tabindex: '-1' };
  return element('button', attributes, icon(path));
}

export function findHosts() {
  return document.getElementsByTagName(HOST);
}

/** The buttons call `place` to move, fold and close; `show` applies the result. */
export function createBar({ ask, place }) {
  const items = element('div', { class: 'items' });
  const arrows = 'M8 2v12M2 8h12M6 4l2-2 2 2M6 12l2 2 2-2M4 6l-2 2 2 2M12 6l2 2-2 2';
  const move = control('Move the toolbar (Shift + arrow key)', arrows);
  const fold = control('Fold the toolbar', 'M4 8h8');
  const close = control('Close the toolbar (Alt + Shift + H reopens it)', 'M4 4l8 8M12 4l-8 8');
  const controls = element('div', { class: 'controls' }, move, fold, close);
  const lineAttributes = { class: 'line', role: 'toolbar', 'aria-label': 'This page and its requests' };
  const line = element('div', lineAttributes, items, controls);
  const chip = element('button', { type: 'button', class: 'chip', hidden: '' });
  const pop = element('div', { class: 'pop', role: 'group', hidden: '' });
  const root = element('section', { class: 'root', 'aria-label': 'Hindsight toolbar' }, line, chip, pop);
  const host = element(HOST, { 'data-turbo': 'false' });
  const shadow = host.attachShadow({ mode: 'open' });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  shadow.adoptedStyleSheets = [sheet];
  shadow.append(root);

  const drawn = new Map();
  const opening = createOpening({ show: showPreview, hold: () => isHeld() });
  let byTouch = false;
  let isQuiet = false;
  let popContent = null;
  let openLink = null;

  const stops = () => [...[...drawn.values()].map(({ link }) => link), move, fold, close];

  function isHeld() {
    const focused = shadow.activeElement;
    if (focused === null) return false;
    const isOnItem = drawn.get(opening.get())?.link === focused && focused.matches(':focus-visible');
    return isOnItem || pop.contains(focused);
  }

  function placePreview(link) {
    const bar = root.getBoundingClientRect();
    const most = innerWidth - EDGE - pop.offsetWidth;
    const left = Math.max(EDGE, Math.min(link.getBoundingClientRect().left, most));
    pop.style.left = `${Math.round(left - bar.left - 1)}px`;
  }

  function fillPreview({ item }) {
    const content = drawPreview(item, ask);
    if (content.isEqualNode(popContent)) return;
    popContent = content.cloneNode(true);
    pop.replaceChildren(...content.childNodes);
    pop.setAttribute('aria-label', item.preview.title.slice(0, 80));
    // A box that scrolls must be reachable by the keyboard, even without a link.
    if (pop.scrollHeight > pop.clientHeight) pop.setAttribute('tabindex', '0');
    else pop.removeAttribute('tabindex');
  }

  function showPreview(key) {
    for (const [known, { item, link }] of drawn) {
      if (item.preview !== null) link.setAttribute('aria-expanded', String(known === key));
    }
    const one = drawn.get(key);
    const hadFocus = pop.contains(shadow.activeElement);
    pop.hidden = one === undefined || one.item.preview === null;
    popContent = null;
    if (hadFocus) focusOn(one?.link ?? openLink);
    openLink = one?.link ?? null;
    if (pop.hidden) {
      pop.replaceChildren();
      return;
    }
    // Inserted again: a box that moves from one item to the next would count as a layout shift of the page (CLS).
    root.append(pop);
    fillPreview(one);
    placePreview(one.link);
  }

  function focusOn(stop) {
    isQuiet = true;
    stop.focus({ preventScroll: true });
    isQuiet = false;
  }

  const isStop = (one) => one.getAttribute('tabindex') === '0';

  function setStop(stop) {
    for (const one of stops()) one.setAttribute('tabindex', one === stop ? '0' : '-1');
  }

  /** Browsers do not scroll to an element that is partly visible. */
  function reveal(link) {
    const [seen, box] = [items.getBoundingClientRect(), link.getBoundingClientRect()];
    items.scrollLeft += Math.min(0, box.left - seen.left) + Math.max(0, box.right - seen.right);
  }

  /** By a mouse or a pen: the tap of a finger comes with the same events. */
  function onHover(target, enter) {
    const unlessTouch =
      (work) =>
      ({ pointerType }) => {
        if (pointerType !== 'touch') work();
      };
    target.addEventListener('pointerenter', unlessTouch(enter));
    target.addEventListener('pointerleave', unlessTouch(opening.leave));
  }

  function listen(key, link) {
    onHover(link, () => opening.point(key));
    link.addEventListener('focus', () => {
      setStop(link);
      reveal(link);
      if (!isQuiet && link.matches(':focus-visible')) opening.set(key);
    });
    link.addEventListener('click', (event) => {
      const hasPreview = drawn.get(key)?.item.preview !== null;
      if (!byTouch || !hasPreview || opening.get() === key) return;
      event.preventDefault();
      opening.set(key);
    });
  }

  function createLink({ key, preview }) {
    const expanded = preview === null ? null : 'false';
    const className = `item i-${key.split(' ')[0]}`;
    const link = element('a', { class: className, tabindex: '-1', 'aria-expanded': expanded });
    listen(key, link);
    return link;
  }

  /** Reuses the element of an item, so that it keeps focus and pointer. */
  function drawItem(item) {
    const known = drawn.get(item.key);
    const content = element('a', { href: item.href }, ...item.parts);
    const link = known?.link ?? createLink(item);
    if (!content.isEqualNode(known?.content ?? null)) {
      if (item.href === null) link.removeAttribute('href');
      else link.setAttribute('href', item.href);
      link.replaceChildren(...content.cloneNode(true).childNodes);
    }
    drawn.set(item.key, { item, link, content });
    return link;
  }

  function drawChip(state) {
    const worst = worstOf(state);
    const status = state.entry === null ? null : state.entry.status;
    const parts = [
      state.entry === null ? span('lab', 'Hindsight') : statusChip(status),
      worst === null ? null : span(`worst ${toneClass(worst.tone)}`, foreign(worst.text, 32)),
    ].filter((part) => part !== null);
    chip.replaceChildren(...parts);
    const words = parts.map((part) => part.textContent).join(', ');
    chip.setAttribute('aria-label', `Unfold the toolbar: ${words}`);
  }

  /**
   * Inserted elements do not count as layout shifts (CLS), moved ones do. While the focus or the pointer is on the bar, elements stay
   * where they can, to keep both.
   */
  function arrange(links) {
    const isTouched = shadow.activeElement !== null || root.matches(':hover');
    const { scrollLeft } = items;
    if (isTouched)
      links.forEach((link, at) => {
        if (items.children[at] !== link) items.insertBefore(link, items.children[at] ?? null);
      });
    else {
      root.remove();
      items.replaceChildren(...links);
      shadow.append(root);
    }
    items.scrollLeft = scrollLeft;
  }

  function render(state) {
    const wanted = itemsOf(state, ask);
    const keys = new Set(wanted.map(({ key }) => key));
    for (const [key, { link }] of drawn) {
      if (keys.has(key)) continue;
      if (opening.get() === key) opening.set(null);
      drawn.delete(key);
      link.remove();
    }
    const links = wanted.map(drawItem);
    drawChip(state);
    arrange(links);
    if (!stops().some(isStop)) setStop(links[0] ?? move);
    const open = drawn.get(opening.get());
    if (open !== undefined && !pop.contains(shadow.activeElement)) {
      fillPreview(open);
      placePreview(open.link);
    }
  }

  function show({ corner, folded }) {
    opening.set(null);
    root.className = `root ${corner}${folded ? ' folded' : ''}`;
    line.hidden = folded;
    chip.hidden = !folded;
    move.title = `Move the toolbar from the ${CORNER_NAMES[corner]} (Shift + arrow key)`;
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.shiftKey) {
      place.towards(event.key);
      return;
    }
    const all = stops();
    const at = all.indexOf(shadow.activeElement);
    const steps = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: all.length - 1 };
    if (at === -1 || !Object.hasOwn(steps, event.key)) return;
    event.preventDefault();
    const stop = all.at(steps[event.key] % all.length);
    setStop(stop);
    stop.focus();
    if (stop === move || stop === fold || stop === close) opening.set(null);
  }

  root.addEventListener('keydown', onKey);
  root.addEventListener('pointerdown', ({ pointerType }) => (byTouch = pointerType === 'touch'), true);
  root.addEventListener('focusout', ({ relatedTarget }) => {
    if (!root.contains(relatedTarget)) opening.leave();
  });
  onHover(pop, opening.stay);
  move.addEventListener('click', place.next);
  fold.addEventListener('click', () => {
    place.fold(true);
    focusOn(chip);
  });
  chip.addEventListener('click', () => {
    place.fold(false);
    focusOn(stops()[0]);
  });
  close.addEventListener('click', () => place.close());
  for (const type of STOPPED) shadow.addEventListener(type, (event) => event.stopPropagation());
  // A tap outside closes a preview that a tap has opened.
  addEventListener('pointerdown', ({ target }) => {
    if (target !== host) opening.set(null);
  }, true); // prettier-ignore

  return {
    host,
    render,
    show,
    focus: () => focusOn(chip.hidden ? (stops().find(isStop) ?? move) : chip),
    hasFocus: () => shadow.activeElement !== null,
  };
}
