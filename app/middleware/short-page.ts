/**
 * The page without a template: for debug off, while too many error pages wait, and if the error page itself fails. No stack, file path or
 * version.
 */
import { escapeHtml } from '../profiler/escape-html.ts';
import { STATUS_CODES } from '../node-http.ts';

export function shortPage(
  { status, message }: { status: number; message: string },
  { showMessage, link = null }: { showMessage: boolean; /** Address of the profile. */ link?: string | null },
): string {
  const title = escapeHtml(`${status} ${STATUS_CODES[status] ?? 'Error'}`);
  const text = showMessage && message !== '' ? `<p>${escapeHtml(message)}</p>` : '';
  const more = link === null ? '' : `<p><a href="${escapeHtml(link)}">Profile of this request</a></p>`;
  return `<!DOCTYPE html><html lang="en"><meta charset="UTF-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>${title}</title><h1>${title}</h1>${text}${more}</html>\n`;
}
