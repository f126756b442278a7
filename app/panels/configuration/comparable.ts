/** Settings, packages and the process as two profiles are compared by them: another release, another machine. */
import type { Comparable, ComparedValue } from '../../profiler/comparable.ts';
import type { ConfigurationPanelData, SettingRow } from './index.ts';

/** Differs from start to start. */
const OF_ONE_START = new Set(['pid']);
const LENGTH = 300;

function settings(section: string, rows: readonly SettingRow[]): ComparedValue[] {
  return rows.map(({ name, value, state }) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value ?? null);
    return { section, name, value: state === 'shown' ? text.slice(0, LENGTH) : state };
  });
}

export function comparableConfiguration(data: ConfigurationPanelData): Comparable {
  return {
    values: [
      ...settings('setting', data.settings),
      ...settings('application', data.application),
      ...data.packages.map((text): ComparedValue => {
        const at = text.lastIndexOf(' ');
        return { section: 'package', name: text.slice(0, at), value: text.slice(at + 1) };
      }),
      ...data.process
        .filter(({ name }) => !OF_ONE_START.has(name))
        .map(({ name, value }) => ({
          section: 'process',
          name,
          value: value === null ? 'not set' : String(value),
        })),
    ],
  };
}
