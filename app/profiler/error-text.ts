/** `TypeError: x is not a function`; the name alone if the error has no message, as that of tsoa's validation. */
export function errorText({ name, message }: { name: string; message: string }): string {
  return message === '' ? name : `${name}: ${message}`;
}
