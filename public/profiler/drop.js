// A saved profile that is dropped on the list opens, as by the form data-drop.

function formFor(event) {
  return event.dataTransfer?.types.includes('Files') ? document.querySelector('form[data-drop]') : null;
}

export function startDropping() {
  document.addEventListener('dragover', (event) => {
    if (formFor(event) !== null) event.preventDefault();
  });
  document.addEventListener('drop', (event) => {
    const form = formFor(event);
    if (form === null) return;
    event.preventDefault();
    form.elements.file.files = event.dataTransfer.files;
    form.requestSubmit();
  });
}
