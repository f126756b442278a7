/** What one panel reads of another's kept data, when a profile is read: what has a place on the timeline's axis, what went out. */
import type { Profile } from '../../profiler/profile.ts';
import { fromLayerRow, type LayerRow, type RanLayer } from './layer-rows.ts';

export interface KeptQuery {
  /** Index of its text and label. */
  statement: number;
  startMs: number;
  durationMs: number | null;
  waitMs: number;
  group: number | null;
}

export interface KeptDatabase {
  statements: { sql: string; label: string }[];
  queries: KeptQuery[];
}

export interface KeptCall {
  method: string;
  url: string;
  startMs: number;
  durationMs: number | null;
}

export interface KeptView {
  name: string;
  startMs: number;
  durationMs: number | null;
  depth: number;
}

export interface KeptRuntime {
  durationMs: number;
  held: { startMs: number; durationMs: number }[];
}

function dataOf<T>({ panels }: Profile, name: string): T | null {
  return (panels[name]?.data ?? null) as T | null;
}

export function layersOf(profile: Profile): RanLayer[] {
  return (dataOf<{ layers: LayerRow[] }>(profile, 'routing')?.layers ?? []).map(fromLayerRow);
}

export function databaseOf(profile: Profile): KeptDatabase {
  return dataOf<KeptDatabase>(profile, 'database') ?? { statements: [], queries: [] };
}

export function callsOf(profile: Profile): readonly KeptCall[] {
  return dataOf<{ calls: KeptCall[] }>(profile, 'http_client')?.calls ?? [];
}

export function viewsOf(profile: Profile): readonly KeptView[] {
  return dataOf<{ views: KeptView[] }>(profile, 'views')?.views ?? [];
}

export function runtimeOf(profile: Profile): KeptRuntime | null {
  return dataOf<KeptRuntime>(profile, 'runtime');
}

export interface KeptResponse {
  scheme: 'http' | 'https';
  headersAtMs: number;
  contentType: string | null;
  headers: readonly { name: string; value: string }[];
}

interface KeptRequest {
  client: { scheme: 'http' | 'https' };
  response: (Omit<KeptResponse, 'scheme' | 'headersAtMs'> & { headersAtMs: number | null }) | null;
}

/** What went out; null while no headers did. */
export function responseOf(profile: Profile): KeptResponse | null {
  const request = dataOf<KeptRequest>(profile, 'request');
  if (request === null || request.response === null) return null;
  const { headersAtMs, contentType, headers } = request.response;
  return headersAtMs === null ? null : { scheme: request.client.scheme, headersAtMs, contentType, headers };
}
