// The search box: Ctrl K goes to it, and a list below it completes what is typed: filters, places of this page, routes, recent requests.
// Without a choice from the list, Enter sends the form.
import { showHidden } from '../../app/view-helpers/safe-html.ts';
import { element, say, set } from './page.js';

// Filters of the box with the values that are common; a test reads each on the server.
export const FILTERS = {
  'status:': ['5xx', '4xx', '3xx', '2xx', '404', '500'],
  'method:': ['get', 'post', 'put', 'patch', 'delete'],
  'route:': [],
  'url:': [],
  'status>=': ['400', '500'],
  'time>': ['100', '500', '1000'],
  'time<': ['10', '50'],
  'queries>=': ['10', '50', '100'],
  'queries<': ['10'],
  'has:': ['error', 'finding', 'n+1', 'slow-query', 'slow-call', 'pin'],
  'finding:': [],
  'kind:': ['request', 'error_page', 'job', 'command', 'all'],
  'process:': [],
  'release:': [],
  'ip:': [],
  'trace:': [],
  'since:': ['15m', '1h', '24h', '7d'],
  'from:': [],
  'until:': [],
  'text:': [],
};
// Offered before anything is typed.
const OFFERED = ['status:', 'time>', 'has:', 'route:', 'since:'];
const MOST = 6;
// Milliseconds without a key before the server is asked.
const PAUSE = 150;

let routes = null;
let shown = [];
let at = -1;
let timer = 0;
let round = 0;

const list = () => document.getElementById('finds');

// Completions of the last word.
export function completions(typed) {
  const word = /\S*$/.exec(typed)[0].toLowerCase();
  const before = typed.slice(0, typed.length - word.length);
  const minus = word.startsWith('-') ? '-' : '';
  if (word === '') return OFFERED.map((text) => ({ group: 'Filters', text, value: typed + text }));
  const words = Object.entries(FILTERS).flatMap(([name, values]) =>
    word.startsWith(minus + name) ? values.map((value) => minus + name + value) : [minus + name],
  );
  return words
    .filter((text) => text.startsWith(word) && text !== word)
    .slice(0, MOST)
    .map((text) => ({ group: 'Filters', text, value: before + text + (/\w$/.test(text) ? ' ' : '') }));
}

function placesOf(typed) {
  return [...document.querySelectorAll('nav.panels a, .top nav a')]
    .map((link) => ({ group: 'Go to', text: link.firstChild.textContent.trim(), href: link.href }))
    .concat(commands())
    .filter(({ text }) => text.toLowerCase().includes(typed))
    .slice(0, MOST);
}

// The buttons of the page: request again, pin, theme.
function commands() {
  return [...document.querySelectorAll('.subject .actions button, [data-theme-toggle]')].map((button) => ({
    group: 'Do',
    text: (button.textContent.trim() || button.title).replace('…', 'Request again '),
    press: button,
  }));
}

async function ask(form, file, query) {
  const address = new URL(file, form.action);
  address.search = new URLSearchParams(query);
  try {
    const response = await fetch(address);
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}

async function routesOf(form, typed) {
  routes ??= (await ask(form, 'routes.json', {}))?.routes ?? [];
  return routes
    .filter(({ route, method }) => route !== null && `${method} ${route}`.toLowerCase().includes(typed))
    .slice(0, MOST)
    .map(({ route, method }) => {
      const address = new URL('routes', form.action);
      address.search = new URLSearchParams({ route, method });
      return { group: 'Routes', text: `${method} ${route}`, href: address.href };
    });
}

const timeText = (ms) => (ms === null ? null : `${Math.round(ms)} ms`);

async function requestsOf(form, typed) {
  // Addresses only: a search in texts is too slow for each key.
  const found = await ask(form, 'search.json', {
    ...(typed === '' ? {} : /[:<>]/.test(typed) ? { q: typed } : { url: typed }),
    limit: MOST,
  });
  return (found?.profiles ?? []).map(({ token, method, url, status, durationMs, mark, startedAt }) => ({
    group: 'Requests',
    text: `${status ?? '…'} ${method} ${url}`,
    note: [token, timeText(durationMs), mark, new Date(startedAt).toLocaleTimeString()]
      .filter(Boolean)
      .join(' · '),
    href: new URL(token, form.action).href,
  }));
}

function mark(index) {
  at = index;
  const options = [...list().querySelectorAll('[role=option]')];
  options.forEach((option, number) => option.setAttribute('aria-selected', String(number === at)));
  options[at]?.scrollIntoView({ block: 'nearest' });
  const box = document.getElementById('q');
  if (at < 0) box.removeAttribute('aria-activedescendant');
  else box.setAttribute('aria-activedescendant', options[at].id);
}

function showList(box, found) {
  shown = found;
  const parts = [];
  found.forEach(({ group, text, note }, index) => {
    if (found[index - 1]?.group !== group)
      parts.push(element('li', { role: 'presentation', class: 'soft' }, group));
    const words = [showHidden(text), ...(note === undefined ? [] : [' ', element('small', {}, note)])];
    parts.push(element('li', { role: 'option', id: `find-${index}`, 'aria-selected': 'false' }, ...words));
  });
  list().replaceChildren(...parts);
  list().hidden = found.length === 0;
  box.setAttribute('aria-expanded', String(found.length > 0));
  mark(-1);
}

export function closeFinds() {
  const box = document.getElementById('q');
  clearTimeout(timer);
  round += 1;
  if (box !== null && list() !== null) showList(box, []);
}

function take(box, { href, value, press }, elsewhere) {
  if (press !== undefined) {
    closeFinds();
    press.click();
  } else if (href === undefined) {
    box.value = value;
    find(box);
  } else if (elsewhere) {
    window.open(href, '_blank', 'noopener');
  } else {
    location.assign(href);
  }
}

// Completes what is typed, at once by what this page knows, then by what the server finds.
export function find(box) {
  const typed = box.value.trim().toLowerCase();
  const mine = ++round;
  clearTimeout(timer);
  const here = [...completions(box.value), ...(typed === '' ? commands() : placesOf(typed))];
  showList(box, here);
  if (typed.length === 1) return;
  timer = setTimeout(async () => {
    const routesFound = typed === '' ? [] : routesOf(box.form, typed);
    const found = await Promise.all([routesFound, requestsOf(box.form, typed)]);
    if (mine !== round || at !== -1) return;
    showList(box, [...here, ...found.flat()]);
    say(shown.length === 0 ? 'No suggestions' : `${shown.length} suggestions`);
  }, PAUSE);
}

function onBoxKey(event) {
  const box = event.currentTarget;
  if (event.key === 'Escape' && shown.length > 0) {
    event.preventDefault();
    closeFinds();
  } else if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && shown.length > 0) {
    event.preventDefault();
    const by = event.key === 'ArrowDown' ? 1 : -1;
    // One step more than there are: none is chosen, and Enter searches.
    mark(((at + 1 + by + shown.length + 1) % (shown.length + 1)) - 1);
  } else if (event.key === 'Enter' && at >= 0) {
    event.preventDefault();
    take(box, shown[at], event.ctrlKey || event.metaKey);
  }
}

export function startFinding() {
  const box = document.getElementById('q');
  if (box === null) return;
  set(box, {
    role: 'combobox',
    'aria-autocomplete': 'list',
    'aria-expanded': 'false',
    'aria-controls': 'finds',
  });
  box.autocomplete = 'off';
  const options = element('ul', {
    id: 'finds',
    class: 'finds',
    role: 'listbox',
    'aria-label': 'Suggestions',
  });
  options.hidden = true;
  box.after(options);
  box.addEventListener('input', () => find(box));
  box.addEventListener('keydown', onBoxKey);
  box.addEventListener('blur', closeFinds);
  // Before the box loses the focus.
  options.addEventListener('mousedown', (event) => {
    event.preventDefault();
    const option = event.target.closest('[role=option]');
    if (option === null || event.button > 1) return;
    take(box, shown[Number(option.id.slice(5))], event.button === 1 || event.ctrlKey || event.metaKey);
  });
}
