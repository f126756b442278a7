/** The table of settings in docs/configuration.md, made from the tables in app/config/settings.ts and laid out as the formatter does. */
import {
  derivedSettings,
  hostSettings,
  profilerSettings,
  serviceSettings,
  type Setting,
} from '../../app/config/settings.ts';

const BEGIN = '<!-- settings: npm run docs -->\n\n';
const END = '\n<!-- /settings -->';

function valueText(value: unknown): string {
  if (value === null) return 'none';
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (typeof value === 'number') return String(value);
  const items = typeof value === 'object' ? Object.values(value) : [value];
  return items.length === 0 ? 'none' : items.map((item) => `\`${String(item)}\``).join(', ');
}

function rowsOf(table: Readonly<Record<string, Setting>>, isOption: boolean): string[][] {
  return Object.entries(table).map(([key, { name, fallback, defaultText, meaning }]) => [
    `\`${name}\``,
    isOption ? `\`${key}\`` : '',
    defaultText ?? valueText(fallback),
    meaning,
  ]);
}

function settingsTable(): string {
  const rows = [
    ['name', 'option of a host', 'default', 'meaning'],
    ...rowsOf(serviceSettings, false),
    ...rowsOf(derivedSettings, false),
    ...rowsOf(hostSettings, true),
    ...rowsOf(profilerSettings, true),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |\n`;
  const [head = [], ...body] = rows.map(line);
  return [head, line(widths.map((width) => '-'.repeat(width))), ...body].join('');
}

/** The page with its table as it should be. Throws if it has no place for one. */
export function withSettingsTable(page: string): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin === -1 || end === -1) throw new Error(`The page needs ${BEGIN.trim()} and ${END.trim()}.`);
  return page.slice(0, begin + BEGIN.length) + settingsTable() + page.slice(end);
}
