// Says a sentence to screen readers through the page's live region.
export function say(text) {
  const line = document.getElementById('said');
  if (line !== null) line.textContent = text;
}
