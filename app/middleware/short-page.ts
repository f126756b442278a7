/** The page without a template: for debug off, and if the error page itself fails. No stack, file path or version. */
import { STATUS_CODES } from 'node:http';
import { escapeHtml } from './escape-html.ts';

export function shortPage(
  { status, message }: { status: number; message: string },
  { showMessage }: { showMessage: boolean },
): string {
  const title = escapeHtml(`${status} ${STATUS_CODES[status] ?? 'Error'}`);
  const text = showMessage && message !== '' ? `<p>${escapeHtml(message)}</p>` : '';
  return `<!DOCTYPE html><html lang="en"><meta charset="UTF-8"><title>${title}</title><h1>${title}</h1>${text}</html>\n`;
}
