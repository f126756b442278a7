import type { Facts } from '../../profiler/record/facts.ts';
import type { Json } from '../../profiler/json.ts';
import type { RanLayer } from '../shared/ran-layers.ts';
import type { NearReason } from './reasons.ts';

export type Considered = NonNullable<Facts['routing']['considered']>[number];

export interface TraceRow {
  number: string;
  kind: RanLayer['kind'] | 'route';
  label: string;
  handler: string | null;
  happened: string;
  /** `on`: it responded. `near`: the path matched. `off`: it did not run. `bad`: it threw. */
  tone: 'plain' | 'on' | 'near' | 'off' | 'bad';
  ms: number | null;
  source: string | null;
}

export interface Asked {
  method: string;
  path: string;
}

export interface Trace {
  trace: TraceRow[];
  traceDropped: number;
  ran: number;
}

export interface RouteGroup {
  name: string | null;
  methods: string[];
  pattern: string;
  handler: string | null;
  source: string | null;
  why: string | null;
}

export interface NearGroup extends RouteGroup {
  reason: NearReason['reason'];
  distance: number;
}

export interface KeptRouting {
  layers: RanLayer[];
  considered: readonly Considered[];
  route: {
    pattern: string;
    method: string;
    handler: string | null;
    source: string | null;
    params: { name: string; value: Json }[];
  } | null;
  nearest: NearGroup[];
  secondTry: { path: string; matched: boolean } | null;
  redirect: { status: number; location: string } | null;
  allow: string[];
}

/** All routes, the same for every request while none is added. */
export interface SharedRoutes {
  routes: RouteGroup[];
  routesDropped: number;
}

export interface RoutingData extends Trace, Omit<KeptRouting, 'layers' | 'considered'> {
  asked: Asked;
  matchedMs: number | null;
  /** null if the routes were not listed. */
  routes: RouteGroup[] | null;
  routesDropped: number;
}
