/**
 * The configuration panel: settings, versions and process. They are passed to the factory, read once, and stored once per process; the settings of
 * the Express application are read from its first request. Values are shown only for names on an allow-list; for all others only whether they
 * are set, so that a new setting is not shown by mistake.
 */
import type { Context } from '../../profiler/record/context.ts';
import type { Panel } from '../../profiler/panel.ts';
import { toPlain } from '../../profiler/record/plain.ts';
import type { ConfigurationData, SettingRow } from './data.ts';
import { presentConfiguration } from './present.ts';

export interface ConfigurationFacts {
  settings: Readonly<Record<string, unknown>>;
  shown: readonly string[];
  /** Another object when more of them are known. */
  packages: Readonly<Record<string, string>>;
  process: Readonly<Record<string, string | number | null>>;
}

const SHOWN_APPLICATION = new Set([
  'env', 'etag', 'trust proxy', 'view engine', 'view cache', 'views', 'query parser', 'case sensitive routing', 'strict routing',
  'x-powered-by', 'json spaces', 'json escape', 'jsonp callback name', 'subdomain offset',
]); // prettier-ignore

function rowsOf(values: Readonly<Record<string, unknown>>, shown: ReadonlySet<string>): SettingRow[] {
  return Object.keys(values).map((name) => {
    const value = values[name];
    if (value === undefined || value === null || value === '') return { name, state: 'not set' };
    return shown.has(name) ? { name, value: toPlain(value), state: 'shown' } : { name, state: 'hidden' };
  });
}

function expressSettings(context: Context): Readonly<Record<string, unknown>> | undefined {
  const live: { app?: { settings?: unknown } } | undefined = context.first('request')?.live;
  const settings = live?.app?.settings;
  return typeof settings === 'object' && settings !== null
    ? (settings as Record<string, unknown>)
    : undefined;
}

function pickShown(settings: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => SHOWN_APPLICATION.has(name)));
}

function listPackages(packages: Readonly<Record<string, string>>): string[] {
  return Object.keys(packages)
    .sort()
    .map((name) => `${name} ${packages[name] ?? ''}`);
}

export function createConfigurationPanel(facts: ConfigurationFacts): Panel<ConfigurationData, null> {
  const read = (application: Readonly<Record<string, unknown>> | undefined): ConfigurationData => ({
    settings: rowsOf(facts.settings, new Set(facts.shown)),
    application: rowsOf(pickShown(application), SHOWN_APPLICATION),
    packages: listPackages(facts.packages),
    process: Object.keys(facts.process).map((name) => ({ name, value: facts.process[name] ?? null })),
  });
  let data: ConfigurationData | null = null;
  let knowsApplication = false;
  let packages = facts.packages;
  return {
    name: 'configuration',
    title: 'Configuration',
    menu: { group: 'process', key: 'f', rank: 82, onlyWhenWrong: true },
    recorded: {
      nothing: {
        what: 'No configuration was recorded.',
        why: 'The application passed none to the profiler.',
      },
      shared(context) {
        const isRead = packages === facts.packages;
        if (data !== null && knowsApplication && isRead) return data;
        const application = expressSettings(context);
        if (data === null || application !== undefined || !isRead) data = read(application);
        knowsApplication = application !== undefined;
        ({ packages } = facts);
        return data;
      },
    },
    rows: presentConfiguration,
  };
}
