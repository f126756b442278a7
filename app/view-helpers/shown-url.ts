/** URLs as people read them. */

/** One character beyond ASCII in UTF-8, percent-encoded (RFC 3986, 2.1). */
const ENCODED =
  /%[CD][0-9A-F]%[89AB][0-9A-F]|%E[0-9A-F](?:%[89AB][0-9A-F]){2}|%F[0-7](?:%[89AB][0-9A-F]){3}/gi;
const VISIBLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u;

/**
 * Percent-encoded letters and symbols as such. Everything else stays as sent: what ASCII encodes could be a delimiter, and what is
 * invisible, or turns the direction of the text, would hide what was asked for.
 */
export function shownUrl(url: string): string {
  return url.replace(ENCODED, (sequence) => {
    try {
      const character = decodeURIComponent(sequence);
      return VISIBLE.test(character) ? character : sequence;
    } catch {
      return sequence;
    }
  });
}
