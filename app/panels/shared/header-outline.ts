/**
 * Recognises a response whose headers were set by the same layers in the same order as before, as most are: comparing takes a
 * fifth of the time of building the text.
 */
import type { ResponseFact } from '../../profiler/facts.ts';

export interface ToldWrites extends Pick<ResponseFact, 'headerWrites' | 'rawHeaders'> {
  layers: readonly object[];
}

const NONE: readonly never[] = [];

/** Everything that the text of a response depends on, if values do not matter. */
export interface Outline {
  /** Of each write. */
  names: string[];
  layers: number[];
  removed: boolean[];
  hooked: boolean[];
  sent: string[];
  text: string;
}

function indexIn(layers: readonly object[], layer: object | null): number {
  return layer === null ? -1 : layers.lastIndexOf(layer);
}

/** null if values matter: for a header that is set twice, and for one of several lines. */
export function outlineOf(
  { headerWrites = NONE, rawHeaders, layers }: ToldWrites,
  text: string,
): Outline | null {
  const set = new Set<string>();
  for (const { name, value } of headerWrites) {
    const lower = name.toLowerCase();
    if (Array.isArray(value) || (value !== undefined && set.has(lower))) return null;
    if (value === undefined) set.delete(lower);
    else set.add(lower);
  }
  return {
    names: headerWrites.map(({ name }) => name),
    layers: headerWrites.map(({ layer }) => indexIn(layers, layer)),
    removed: headerWrites.map(({ value }) => value === undefined),
    hooked: headerWrites.map(({ hooked }) => hooked),
    sent: rawHeaders.filter((_value, i) => i % 2 === 0),
    text,
  };
}

/** Most responses of an application have the same history as the one before. */
export function isTheSame(
  { names, layers, removed, hooked, sent }: Outline,
  { headerWrites = NONE, rawHeaders, layers: ran }: ToldWrites,
): boolean {
  if (headerWrites.length !== names.length || rawHeaders.length !== sent.length * 2) return false;
  let layer: object | null | undefined;
  let index = -1;
  for (let i = 0; i < names.length; i++) {
    const write = headerWrites[i];
    if (
      write === undefined ||
      write.hooked !== hooked[i] ||
      write.name !== names[i] ||
      Array.isArray(write.value)
    )
      return false;
    // One layer sets several in a row.
    if (write.layer !== layer) index = indexIn(ran, write.layer);
    layer = write.layer;
    if (index !== layers[i] || (write.value === undefined) !== removed[i]) return false;
  }
  return sent.every((name, i) => rawHeaders[2 * i] === name);
}
