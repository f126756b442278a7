/** The layers that the overview names: who read the body, who handled the request, who answered it. */
import type { Profile } from '../../profiler/profile.ts';
import { layerName } from '../shared/header-authors.ts';
import { headersAtMsOf, layersOf, mountedHandlerOf } from '../shared/kept-panels.ts';
import { isHandlerOf, lastRunning, type RanLayer, startedBefore } from '../shared/ran-layers.ts';
import type { Tone } from '../../profiler/read/rows.ts';
import { dataOf } from '../shared/panel-data.ts';
import type { SummaryFacts } from '../../profiler/store/profile-index.ts';

export interface NamedLayer {
  name: string;
  handler: string | null;
  place: string | null;
  startMs: number;
  endMs: number | null;
  isHandler: boolean;
  /** It may read bodies by itself, as servers of GraphQL do. */
  isMounted: boolean;
  threw: boolean;
}

export interface Ran {
  /** What ran before the handler, by name or place, in order. */
  before: readonly string[];
  /** The lines of the application that registered them. */
  registered: readonly string[];
  parser: NamedLayer | null;
  handler: NamedLayer | null;
  answered: NamedLayer | null;
}

export interface OverviewData {
  findings: number;
  worst: Tone;
  summary?: SummaryFacts;
  ran?: Ran;
}

export const NOBODY: Ran = { before: [], registered: [], parser: null, handler: null, answered: null };

/** Middleware that reads bodies -> the function that made it, and the types that it reads unless it is told others. */
const PARSERS: Readonly<Record<string, { by: string; types: RegExp }>> = {
  jsonParser: { by: 'express.json', types: /\bjson\b/i },
  urlencodedParser: { by: 'express.urlencoded', types: /x-www-form-urlencoded/i },
  textParser: { by: 'express.text', types: /^text\//i },
  rawParser: { by: 'express.raw', types: /octet-stream/i },
  multerMiddleware: { by: 'multer', types: /^multipart\//i },
};

function isNamed({ name }: RanLayer): boolean {
  return name !== '' && name !== '<anonymous>';
}

/** Of a package, the name is no line of the application. */
const FILE = /\.[cm]?[jt]sx?(?::\d+)?$/;

function namedLayer(
  layer: RanLayer | undefined,
  { asked, mounted }: { asked: string; mounted: RanLayer | undefined },
): NamedLayer | null {
  if (layer === undefined) return null;
  const { name, kind, method, pattern, source, startMs, nextMs, outcome } = layer;
  const isHandler = kind === 'handler' || layer === mounted;
  return {
    name: isHandler ? `${method ?? (kind === 'handler' ? 'ALL' : asked)} ${pattern}` : layerName(layer),
    handler: isNamed(layer) ? name : null,
    place: FILE.test(source ?? '') ? source : null,
    startMs,
    endMs: nextMs === null ? null : startMs + nextMs,
    isHandler,
    isMounted: layer === mounted,
    threw: outcome === 'threw',
  };
}

function middlewareBefore(layers: readonly RanLayer[], handler: RanLayer | undefined): RanLayer[] {
  const end = handler === undefined ? layers.length : layers.indexOf(handler);
  return layers.slice(0, end).filter(({ kind }) => kind === 'middleware' || kind === 'handler');
}

function nameWithPut(layer: RanLayer): string {
  const name = isNamed(layer) ? layer.name : (layer.source ?? layerName(layer));
  return layer.put === undefined ? name : `${name} (${layer.put.join(', ')})`;
}

/** Reads stored data: only before panels have made theirs of it. */
export function ranOf(profile: Profile): Ran {
  const layers = layersOf(profile);
  const { body } = dataOf(profile, 'request') ?? {};
  const parsers = layers.filter(({ name }) => Object.hasOwn(PARSERS, name));
  const parser =
    parsers.find(({ name }) => PARSERS[name]?.types.test(body?.contentType ?? '')) ?? parsers.at(-1);
  const mounted = mountedHandlerOf(profile);
  const headersAtMs = headersAtMsOf(profile);
  const route = dataOf(profile, 'routing')?.route?.pattern;
  const handlers = layers.filter(route === undefined ? ({ kind }) => kind === 'handler' : isHandlerOf(route));
  const handler =
    profile.route === null
      ? undefined
      : (handlers.findLast(startedBefore(headersAtMs)) ?? handlers.at(-1) ?? mounted);
  const named = (layer: RanLayer | undefined) => namedLayer(layer, { asked: profile.method, mounted });
  const read = named(parser);
  const before = middlewareBefore(layers, handler);
  return {
    before: before.map(nameWithPut),
    registered: [...new Set(before.flatMap(({ source }) => (FILE.test(source ?? '') ? (source ?? []) : [])))],
    parser: read === null ? null : { ...read, name: PARSERS[parser?.name ?? '']?.by ?? read.name },
    handler: named(handler),
    answered: named(lastRunning(layers, headersAtMs)),
  };
}

/**
 * `file:line` that sent the response, else that of the layer that did. Express sends a rendered page in a later turn, in which only the
 * render knows who asked for it.
 */
export function senderOf(profile: Profile, { answered }: Ran): string | null {
  const { sentFrom, headersAtMs } = dataOf(profile, 'request')?.response ?? {};
  const views = sentFrom === undefined ? (dataOf(profile, 'views')?.views ?? []) : [];
  const rendered = views.findLast(
    ({ depth, caller, startMs }) => depth === 0 && caller !== null && startMs <= (headersAtMs ?? 0),
  );
  return sentFrom ?? rendered?.caller ?? answered?.place ?? null;
}

export function answeredText({ name, handler }: NamedLayer): string {
  return (handler ?? name).slice(0, 80);
}
