import type { Presentation, Row } from '../../profiler/read/rows.ts';
import { count } from '../../view-helpers/numbers.ts';
import type { ConfigurationData, SettingRow } from './data.ts';

const TITLES: Readonly<Record<string, string>> = {
  process: 'Process',
  pid: 'Process id',
  node: 'Node',
  platform: 'Platform',
  startedAt: 'Started at',
  dyno: 'Dyno',
  release: 'Release',
};

function settingRows(settings: readonly SettingRow[], id: string): Row[] {
  return settings.map(({ name, value, state }, index): Row => ({
    id: `${id}-${index + 1}`,
    label: name,
    ...(state === 'shown'
      ? { text: value ?? null }
      : { note: state === 'hidden' ? 'set (hidden)' : 'not set' }),
  }));
}

export function presentConfiguration(data: ConfigurationData): Presentation {
  const { settings, application, packages, process } = data;
  const unset = settings.filter(({ state }) => state === 'not set');
  const set = settings.filter(({ state }) => state !== 'not set');
  return {
    sections: [
      {
        id: 'process',
        title: 'Process',
        values: 'process',
        rows: [
          ...process.map(({ name, value }): Row => ({
            label: TITLES[name] ?? name,
            ...(value === null ? { note: 'not set' } : { text: value }),
            ...(name === 'pid' ? { varies: true } : {}),
          })),
        ],
      },
      {
        id: 'settings',
        title: 'Settings',
        note: `${count(set.length)} of ${count(settings.length)} set; secrets are never shown`,
        values: 'setting',
        rows: settingRows(set, 'setting'),
        ...(settings.length === 0 ? {} : { none: 'None is set.' }),
      },
      {
        id: 'unset',
        title: 'Not set',
        note: count(unset.length),
        rows: unset.length === 0 ? [] : [{ text: unset.map(({ name }) => name).join(', ') }],
      },
      {
        id: 'application',
        title: 'Express',
        note: count(application.length, 'setting'),
        values: 'application',
        rows: settingRows(application, 'express'),
      },
      {
        id: 'packages',
        title: 'Packages',
        note: count(packages.length),
        values: 'package',
        rows: packages.map((text, index): Row => {
          const at = text.lastIndexOf(' ');
          return { id: `package-${index + 1}`, label: text.slice(0, at), text: text.slice(at + 1) };
        }),
        none: 'No package version is known.',
      },
    ],
  };
}
