/**
 * Values that requests put into `app.locals` -> facts `appLocal`. All requests and views share them, so that of one visitor is shown to
 * the next. Looked at whenever a layer starts or ends; while requests overlap, nobody knows which of them changed a value.
 */
import { types } from 'node:util';
import { type Context, createSlot } from '../../profiler/record/context.ts';
import type { Json } from '../../profiler/json.ts';
import { defaultPlainLimits, toPlain } from '../../profiler/record/plain.ts';
import { field, isObject } from '../../profiler/record/safe-read.ts';
import type { LayerFact } from './layer-fact.ts';

interface AppLocalFact {
  name: string;
  value: Json;
  by: string;
  source: string | null;
  /** How many different values requests have put there, one after the other. */
  times: number;
}

declare module '../../profiler/record/facts.ts' {
  interface Facts {
    appLocal: AppLocalFact;
  }
}

interface Known {
  values: Map<string, unknown>;
  put: Map<string, Omit<AppLocalFact, 'name'>>;
}

const MOST_NAMES = 50;
const LIMITS = { ...defaultPlainLimits, depth: 2, width: 10, length: 200, total: 30 };

function localsOf(context: Context): object | null {
  const { live } = context.first('request') ?? {};
  const app = live === undefined ? undefined : field(live, 'app');
  const locals = isObject(app) ? field(app, 'locals') : undefined;
  return isObject(locals) && !types.isProxy(locals) ? locals : null;
}

export function observeAppLocals(): { onRequest(context: Context): void; onFinish(context: Context): void } {
  const known = new WeakMap<object, Known>();
  const seen = createSlot<object | undefined>('locals of the application');
  let running = 0;

  function look(locals: object, context: Context | null): Known {
    const before = known.get(locals);
    const found: Known = before ?? { values: new Map(), put: new Map() };
    const { values, put } = found;
    if (before === undefined) known.set(locals, found);
    for (const name of Object.keys(locals).slice(0, MOST_NAMES)) {
      const value: unknown = Object.getOwnPropertyDescriptor(locals, name)?.value;
      if (values.get(name) === value) continue;
      values.set(name, value);
      if (before === undefined || context === null) {
        put.delete(name);
        continue;
      }
      const { source = null } = (context.layer ?? {}) as Partial<LayerFact>;
      const plain = toPlain(value, LIMITS);
      const last = put.get(name);
      const isSame = last !== undefined && JSON.stringify(last.value) === JSON.stringify(plain);
      const times = (last?.times ?? 0) + (isSame ? 0 : 1);
      put.set(name, { by: context.token, source, times, value: plain });
    }
    return found;
  }

  return {
    onRequest(context) {
      const locals = localsOf(context);
      if (locals === null || context.kind !== 'request') return;
      look(locals, null);
      seen.set(context, locals);
      running++;
      const { onLayerChange } = context;
      const lookAgain = (of: Context): void => {
        onLayerChange?.(of);
        look(locals, running === 1 ? of : null);
      };
      context.onLayerChange = lookAgain;
    },
    onFinish(context) {
      const locals = seen.get(context);
      if (locals === undefined) return;
      const { put } = look(locals, running === 1 ? context : null);
      seen.set(context, undefined);
      running--;
      for (const [name, fact] of put) context.add('appLocal', { name, ...fact });
    },
  };
}
