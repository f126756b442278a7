/** Numbers with units as plain text, for pages, sentences and the toolbar's script. */
export type Amount = number | null | undefined;

export function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

export function group(digits: string): string {
  return digits.length < 4 ? digits : digits.replace(/\B(?=(\d{3})+$)/g, ',');
}

export function count(value: Amount, singular?: string, plural = `${singular}s`): string {
  if (!isNumber(value)) return '–';
  const digits = `${value < 0 ? '−' : ''}${group(String(Math.abs(Math.round(value))))}`;
  if (singular === undefined) return digits;
  return `${digits} ${value === 1 ? singular : plural}`;
}

export function splitDuration(ms: number): [string, string] {
  const size = Math.abs(ms);
  if (size > 0 && size < 0.05) return [ms < 0 ? '>−0.1' : '<0.1', 'ms'];
  if (size < 999.95) return [ms.toFixed(1), 'ms'];
  if (size < 59_995) return [(ms / 1000).toFixed(2), 's'];
  const seconds = Math.round(ms / 1000);
  const [whole, unit, rest, small] =
    seconds < 3600
      ? [Math.floor(seconds / 60), 'min', seconds % 60, 's']
      : [Math.floor(seconds / 3600), 'h', Math.floor((seconds % 3600) / 60), 'min'];
  return rest === 0 ? [String(whole), unit] : [`${whole} ${unit} ${rest}`, small];
}

export function durationText(ms: Amount): string {
  return isNumber(ms) ? splitDuration(ms).join(' ') : '–';
}

export function percentText(part: Amount, whole: Amount): string {
  if (!isNumber(part) || !isNumber(whole) || whole <= 0) return '–';
  const percent = (part / whole) * 100;
  return percent > 0 && percent < 0.5 ? '<1 %' : `${Math.round(percent)} %`;
}
