/** JSON that was perhaps recorded only in part: its values, and the leaves of a value with their paths. */
import { isRecord, type Json, parseJson } from '../../profiler/json.ts';

export interface Leaf {
  /** `lines.0.quantity` */
  path: string;
  name: string;
  value: string | number | boolean | null;
}

const MOST_ENDS = 40;

/** What closes the brackets that are open in a text; null inside of a string. */
function closing(text: string): string | null {
  const open: string[] = [];
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (inString) {
      if (character === '\\') at++;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{') open.push('}');
    else if (character === '[') open.push(']');
    else if (character === '}' || character === ']') open.pop();
  }
  return inString ? null : open.reverse().join('');
}

/** A whole text in quotes, or one that was cut, also in an escape: none is read twice. Or a whole long number. */
const LONG = /"(?:[^"\\]|\\(?:.|$))*(?:"|$)|(?<!\d)-?\d{16,}(?![\d.eE])/gs;

/** Numbers that JavaScript can't hold become texts: `JSON.parse` would change their last digits. */
function withAllDigits(text: string): string {
  return text.replace(LONG, (part) =>
    part.startsWith('"') || Number.isSafeInteger(Number(part)) ? part : `"${part}"`,
  );
}

/** A JSON text, or the whole values at its beginning if it was cut; undefined if it is no JSON. */
export function parseBeginning(given: string): { value: Json; isWhole: boolean } | undefined {
  const text = withAllDigits(given);
  const whole = parseJson(text);
  if (whole !== undefined) return { value: whole, isWhole: true };
  if (!/^\s*[[{]/.test(text)) return undefined;
  let end = text.length;
  for (let tries = 0; tries < MOST_ENDS && end > 0; tries++) {
    end = text.lastIndexOf(',', end - 1);
    if (end === -1) return undefined;
    const close = closing(text.slice(0, end));
    const value = close === null ? undefined : parseJson(text.slice(0, end) + close);
    if (value !== undefined) return { value, isWhole: false };
  }
  return undefined;
}

export function leavesOf(value: Json, most = 500): Leaf[] {
  const leaves: Leaf[] = [];
  const walk = (part: Json, path: string, name: string, depth: number): void => {
    if (leaves.length >= most || depth > 12) return;
    if (Array.isArray(part))
      part.forEach((item, at) => {
        walk(item, path === '' ? String(at) : `${path}.${at}`, name, depth + 1);
      });
    else if (isRecord(part))
      for (const [key, item] of Object.entries(part))
        walk(item, path === '' ? key : `${path}.${key}`, key, depth + 1);
    else leaves.push({ path, name, value: part });
  };
  walk(value, '', '', 0);
  return leaves;
}

/** The lists that a whole JSON text is or has. */
export function listsIn(text: string): Json[][] {
  const value = parseJson(text);
  return (isRecord(value) ? Object.values(value) : [value]).filter((part) => Array.isArray(part));
}

export function leavesIn(text: string): Leaf[] {
  return leavesOf(parseBeginning(text)?.value ?? null);
}

const OBJECTS_WITHIN = 8;

/** All objects of a value, the outer ones first. */
export function objectsIn(value: Json, depth = 0): Record<string, Json>[] {
  if (typeof value !== 'object' || value === null || depth > OBJECTS_WITHIN) return [];
  const inside = Object.values(value).flatMap((part) => objectsIn(part, depth + 1));
  return isRecord(value) ? [value, ...inside] : inside;
}
