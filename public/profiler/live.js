// Keeps the list up to date: when the server reports new requests, the page is fetched again and its parts are replaced; what is
// open, selected or focused stays so. If the reader has scrolled down, or points at a row, a button says how many requests are new.
import { showMark } from './compare.js';
import { closeFolds } from './fold.js';
import { fetchPage, remember, remembered, say } from './page.js';
import { showLocalTimes } from './times.js';

const STORED_LIVE = 'hindsight.live';
// Parts that change with the requests; the filter form stays as typed.
const PARTS = ['views', 'histogram', 'found'];
// Pixels; the list only moves by itself if it is scrolled less than this.
const NEAR_TOP = 160;

let source = null;
let fresh = new Set();
let asking = false;
let missed = false;
// The list is newer than the page, whose rows may not move yet.
let postponed = false;
// The reader asks for the new requests: rows move under the pointer, too.
let demanded = false;

const byId = (id) => document.getElementById(id);

const isWanted = () => remembered(STORED_LIVE) !== 'off';

// The state of the list that a reload must restore.
function takeState() {
  const checked = [...document.querySelectorAll('#found [name=t]:checked')].map((box) => box.value);
  const open = [...document.querySelectorAll('#found [aria-expanded=true]')].map((link) => link.hash);
  const shown = new Set([...document.querySelectorAll('#found tr[id]')].map((row) => row.id));
  const focused = document.activeElement?.closest('#found tr[id]')?.id;
  return { checked, open: new Set(open), shown, focused, at: document.activeElement?.localName };
}

function putState({ checked, open, shown, focused, at }) {
  closeFolds(open);
  for (const box of document.querySelectorAll('#found [name=t]')) box.checked = checked.includes(box.value);
  for (const row of document.querySelectorAll('#found tr[id]'))
    if (shown.size > 0 && !shown.has(row.id)) row.classList.add('new');
  showMark();
  if (focused) byId(focused)?.querySelector(at)?.focus();
}

async function refresh() {
  if (asking) {
    missed = true;
    return;
  }
  asking = true;
  try {
    const page = await fetchPage(location.href);
    if (!demanded && !mayMove()) {
      postponed = true;
      showNews();
      return;
    }
    const state = takeState();
    for (const id of PARTS) {
      const part = page.getElementById(id);
      if (part !== null) byId(id)?.replaceWith(document.adoptNode(part));
    }
    showLocalTimes();
    putState(state);
    fresh = new Set();
    postponed = false;
    demanded = false;
    showNews();
  } catch {
    // The next event tries again.
  } finally {
    asking = false;
    if (missed) {
      missed = false;
      void refresh();
    }
  }
}

// Rows stay where they are while the reader points at one, or has scrolled down. What is pressed stays, too: a link that is replaced
// before it is released opens nothing.
function mayMove() {
  const held = PARTS.some((id) => byId(id)?.matches(':active'));
  return window.scrollY <= NEAR_TOP && !held && byId('rows')?.matches(':hover') !== true;
}

function showNews() {
  const news = byId('news');
  const text = `${fresh.size} new ${fresh.size === 1 ? 'request' : 'requests'}`;
  news.hidden = fresh.size === 0;
  news.textContent = text;
  if (fresh.size > 0) say(text);
}

// `now`: the newest requests at the start, which the page may be too old to show; `new`: requests that appeared or ended since.
function onMessage({ data }) {
  const { now, new: tokens = now } = JSON.parse(data);
  if (now?.every((token) => byId(`r-${token}`) !== null)) return;
  for (const token of tokens) if (byId(`r-${token}`) === null) fresh.add(token);
  if (mayMove()) {
    void refresh();
    return;
  }
  postponed = true;
  showNews();
}

function showState() {
  byId('live').setAttribute('aria-pressed', String(source !== null));
}

function connect() {
  if (source !== null || document.hidden || !isWanted()) return;
  const opened = new EventSource(document.querySelector('[data-live]').dataset.live);
  let before = false;
  opened.addEventListener('message', onMessage);
  opened.addEventListener('open', () => {
    // After a reconnect, catch up.
    if (before) void refresh();
    before = true;
  });
  opened.addEventListener('error', () => {
    if (opened.readyState === EventSource.CLOSED && source === opened) disconnect();
  });
  source = opened;
  showState();
}

function disconnect() {
  source?.close();
  source = null;
  showState();
}

export function startLive() {
  if (document.querySelector('[data-live]') === null) return;
  byId('live').addEventListener('click', () => {
    remember(STORED_LIVE, source === null ? 'on' : 'off');
    if (source === null) {
      connect();
      void refresh();
    } else disconnect();
  });
  byId('news').addEventListener('click', (event) => {
    event.preventDefault();
    window.scrollTo(0, 0);
    demanded = true;
    void refresh();
  });
  // A hidden page does not ask.
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) disconnect();
    else if (isWanted()) {
      connect();
      void refresh();
    }
  });
  document.addEventListener('mouseout', () => {
    if (postponed && mayMove()) void refresh();
  });
  window.addEventListener('pagehide', disconnect);
  connect();
}
