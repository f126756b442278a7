/** `TypeError: x is not a function`; the name alone if the error has no message, as that of tsoa's validation, or `undefined` was thrown. */
export function errorText({ name, message }: { name: string; message: string }): string {
  return message === '' || message === name ? name : `${name}: ${message}`;
}
