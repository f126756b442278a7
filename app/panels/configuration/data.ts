import type { Json } from '../../profiler/json.ts';

export interface SettingRow {
  name: string;
  /** Absent if the name is not on the list. */
  value?: Json;
  state: 'shown' | 'hidden' | 'not set';
}

export interface ConfigurationData {
  settings: SettingRow[];
  application: SettingRow[];
  /** Name and version in one text each. */
  packages: string[];
  process: { name: string; value: string | number | null }[];
}
