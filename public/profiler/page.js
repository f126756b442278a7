// What several scripts of a page need: the live region, elements, parts of other pages, and what this browser remembers.

// Says a sentence to screen readers through the page's live region.
export function say(text) {
  const line = document.getElementById('said');
  if (line !== null) line.textContent = text;
}

export function set(made, attributes) {
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
}

export function element(name, attributes, ...children) {
  const made = document.createElement(name);
  set(made, attributes);
  made.append(...children);
  return made;
}

// Throws if there is nothing at the address.
export async function fetchText(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${response.status}`);
  return response.text();
}

export async function fetchPage(url) {
  return new DOMParser().parseFromString(await fetchText(url), 'text/html');
}

let asked = 0;

// An element of the page at an address; null if another one was asked for meanwhile.
export async function fetchPart(url, id) {
  const number = ++asked;
  const part = (await fetchPage(url)).getElementById(id);
  if (part === null) throw new Error(`No ${id}`);
  return number === asked ? part : null;
}

export function opensElsewhere(event) {
  return event.ctrlKey || event.metaKey || event.shiftKey;
}

// Null also where the browser refuses its storage.
export function remembered(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

// False where the browser refuses: the choice lasts for this page.
export function remember(name, value) {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
    return true;
  } catch {
    return false;
  }
}
