// All of a row of the list opens its request, as its link does: in a new tab by Ctrl or the middle button.
const OWN = 'a, button, input, label, summary';

export function openRow(event) {
  if (event.button > 1 || event.defaultPrevented) return;
  const row = event.target.closest('table.list tr[id^="r-"]');
  if (row === null || event.target.closest(OWN) !== null) return;
  // Text is being selected.
  if (!getSelection().isCollapsed) return;
  const link = row.querySelector('a.go');
  if (event.button === 1 || event.ctrlKey || event.metaKey) window.open(link.href, '_blank', 'noopener');
  else link.click();
}
