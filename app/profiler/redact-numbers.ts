/** Masks payment card numbers (ISO/IEC 7812, Luhn's check digit) and IBANs (ISO 13616, check digits of ISO 7064). */
import { MASK } from './redact-rules.ts';

/** A blank, a hyphen, or either form of a blank in an address. */
const GAPS = /[ +-]|%20/g;
const CARD = /(?<![\w.-]|%[\dA-F])[2-6]\d{3}(?:(?:[ +-]|%20)?\d){9,15}(?![\w-])/g;
/** Lengths and first digits of the large networks. */
const NETWORKS =
  /^(?:4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3(?:0[0-59]|[689]\d)\d{11,13}|35\d{14}|6(?:011|4[4-9]|5\d|2\d)\d{12,15})$/;

function isCard(digits: string): boolean {
  if (!NETWORKS.test(digits)) return false;
  let sum = 0;
  for (let at = 0; at < digits.length; at++) {
    const digit = Number(digits.charAt(digits.length - 1 - at));
    sum += at % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2;
  }
  return sum % 10 === 0;
}

/** Length of an IBAN by its country, from the registry of SWIFT. */
const IBAN_LENGTHS = new Map(
  (
    'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 ' +
    'GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 ' +
    'MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 ' +
    'TN24 TR26 UA29 VA22 VG24 XK20 YE30'
  )
    .split(' ')
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))] as const),
);
const IBAN = /(?<![A-Za-z0-9])([A-Z]{2})\d{2}(?:(?:[ +]|%20)?[A-Z0-9]){11,29}/g;

function isIban(text: string): boolean {
  let rest = 0;
  for (const character of text.slice(4) + text.slice(0, 4)) {
    const value = parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}

/** The first `length` letters and digits of a text; null if a word goes on after them. */
function takeIban(run: string, length: number): string | null {
  let count = 0;
  let at = 0;
  while (at < run.length && count < length) {
    const character = run.charAt(at);
    at += character === '%' ? 3 : 1;
    if (/[A-Z0-9]/.test(character)) count++;
  }
  return count < length || /[A-Za-z0-9]/.test(run.charAt(at)) ? null : run.slice(0, at);
}

function maskIban(run: string, country: string): string {
  const iban = takeIban(run, IBAN_LENGTHS.get(country) ?? Infinity);
  return iban !== null && isIban(iban.replace(GAPS, '')) ? MASK + run.slice(iban.length) : run;
}

export function maskNumbers(text: string): string {
  return text
    .replace(CARD, (run) => (isCard(run.replace(GAPS, '')) ? MASK : run))
    .replace(IBAN, (run, country: string) => maskIban(run, country));
}

/** Fewest digits in a row, blanks and hyphens not counted, in a card number or an IBAN (that of the Netherlands). */
export const SHORTEST_DIGITS = 10;
/** Smaller numbers are no card numbers; times in milliseconds are smaller, too. */
const SMALLEST_CARD = 1e13;

export function isCardNumber(value: unknown): boolean {
  return typeof value === 'number' && value >= SMALLEST_CARD && isCard(String(value));
}
