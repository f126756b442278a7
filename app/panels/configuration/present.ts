import type { PresentFrom } from '../../profiler/panel.ts';
import type { Presentation, Row } from '../../profiler/read/rows.ts';
import { count, durationText } from '../../view-helpers/numbers.ts';
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

/** How long the process had run when the request came; none if unknown. */
function uptimeRows({ process }: ConfigurationData, requestedAt: number): Row[] {
  const startedAt = Date.parse(String(process.find(({ name }) => name === 'startedAt')?.value ?? ''));
  if (Number.isNaN(startedAt)) return [];
  return [{ label: 'Uptime', text: durationText(Math.max(0, requestedAt - startedAt)), varies: true }];
}

export function presentConfiguration(data: ConfigurationData, { profile }: PresentFrom): Presentation {
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
          ...uptimeRows(data, profile.startedAt),
        ],
      },
      {
        id: 'settings',
        title: 'Settings',
        note: `${count(set.length)} of ${count(settings.length)} set; secrets are never shown`,
        values: 'setting',
        rows: settingRows(set, 'setting'),
        none: 'No settings were passed to the profiler.',
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
