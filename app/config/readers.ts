/**
 * Readers of settings: text of the environment, or the value that a host passes, -> checked value. A wrong one throws the rest
 * of a sentence that begins with the setting's name and says what to change.
 */
import { isIP, isIPv4 } from 'node:net';
import { releaseName } from './release.ts';

export type Reader<Value> = (given: unknown) => Value;

export function wholeNumber(min: number, max: number): Reader<number> {
  return (given) => {
    const value = typeof given === 'string' && /^\d+$/.test(given) ? Number(given) : given;
    if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max)
      throw new Error(`is "${String(given)}"; set a whole number from ${min} to ${max}.`);
    return value;
  };
}

export function countOrUnlimited(given: unknown): number | 'unlimited' {
  if (given === 'unlimited') return given;
  try {
    return wholeNumber(0, 1_000_000)(given);
  } catch {
    throw new Error(`is "${String(given)}"; set a whole number from 0 to 1000000, or "unlimited".`);
  }
}

export function share(given: unknown): number {
  const value = typeof given === 'string' && /^\d*\.?\d+$/.test(given) ? Number(given) : given;
  if (typeof value !== 'number' || !(value >= 0 && value <= 1))
    throw new Error(`is "${String(given)}"; set a number from 0 to 1, such as 0.1 for one request in ten.`);
  return value;
}

export function onOff(given: unknown): boolean {
  const value = String(given);
  if (/^(1|true|on|yes)$/i.test(value)) return true;
  if (/^(0|false|off|no)$/i.test(value)) return false;
  throw new Error(`is "${value}"; set it to on or off.`);
}

export function oneOf<Word extends string>(...words: readonly Word[]): Reader<Word> {
  return (given) => {
    const word = words.find((one) => one === given);
    if (word === undefined)
      throw new Error(
        `is "${String(given)}"; set it to ${words.slice(0, -1).join(', ')} or ${String(words.at(-1))}.`,
      );
    return word;
  };
}

export function text(given: unknown): string {
  return String(given);
}

/** An empty one is most likely a variable that is not set. */
export function password(given: unknown): string {
  const value = String(given);
  if (value === '') throw new Error('is empty; set a password, or remove the setting.');
  return value;
}

/** An empty text stays one: no release. */
export function release(given: unknown): string {
  const value = String(given);
  const name = value.trim() === '' ? '' : releaseName(value);
  if (name === null)
    throw new Error(`is "${value}"; set up to 100 letters, digits and . _ + / @ : -, such as a commit.`);
  return name;
}

export function domain(given: unknown): string {
  const value = String(given).toLowerCase();
  if (value.length > 253 || !/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(value))
    throw new Error(`is "${value}"; set a host name such as shop.example.com.`);
  return value;
}

/** PostgreSQL truncates identifiers at 63 bytes. */
export const IDENTIFIER_LIMIT = 63;

export function schemaName(given: unknown): string {
  const value = String(given);
  if (!/^[A-Za-z_][A-Za-z0-9_$]*$/.test(value) || value.length > IDENTIFIER_LIMIT || /^pg_/i.test(value))
    throw new Error(
      `is "${value}"; set letters, digits and underscores, at most 63, not beginning with a digit or "pg_".`,
    );
  return value;
}

function itemsOf(given: unknown): string[] {
  const items = Array.isArray(given) ? given.map(String) : String(given).split(/[\s,]+/);
  return items.filter((item) => item !== '');
}

export function proxyRanges(given: unknown): readonly string[] {
  return itemsOf(given).map((range) => {
    const [address = '', bits, ...rest] = range.split('/');
    const most = isIPv4(address) ? 32 : 128;
    const hasBits = bits !== undefined;
    if (isIP(address) === 0 || rest.length > 0 || (hasBits && (!/^\d+$/.test(bits) || Number(bits) > most)))
      throw new Error(`holds "${range}"; list addresses or ranges such as 10.0.0.0/8.`);
    return hasBits ? range : `${address}/${most}`;
  });
}

/** Lower-case host names; a leading dot stands for a domain with all its subdomains. */
export function hostNames(given: unknown): readonly string[] {
  return itemsOf(given).map((item) => {
    const host = item.toLowerCase();
    if (!/^\.?([a-z0-9_-]+\.)*[a-z0-9_-]+$|^\[[0-9a-f:.]+\]$/.test(host))
      throw new Error(`holds "${host}"; list host names, ".example.com" for a whole domain.`);
    return host;
  });
}

export function hostNamesOrAll(given: unknown): readonly string[] {
  return String(given).trim() === '*' ? ['*'] : hostNames(given);
}

const ORIGIN = /^https?:\/\/[^/?#@\s*]+$/i;

/** Each origin once, as browsers write it. */
export function origins(given: unknown): readonly string[] {
  const known = itemsOf(given).map((item) => {
    if (!ORIGIN.test(item) || !URL.canParse(item))
      throw new Error(
        `holds "${item.slice(0, 100)}"; list origins as the browser shows them, scheme, host and port, such as http://localhost:5173 (no path, no *).`,
      );
    return new URL(item).origin;
  });
  return [...new Set(known)];
}
