// Forms that ask first: data-confirm names the dialog that holds the form which does it. Without script a page asks.
export function onSubmit(event) {
  const dialog = document.getElementById(event.target.dataset?.confirm ?? '');
  if (dialog === null) return;
  event.preventDefault();
  dialog.showModal();
}

// True where there was a dialog to close.
export function closeDialog(link) {
  const dialog = link.closest('dialog');
  dialog?.close();
  return dialog !== null;
}
