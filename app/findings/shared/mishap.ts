/** What is known to have gone wrong with a value on its way. */
import type { Leaf } from '../../panels/shared/json-leaves.ts';
import { DAY, DAY_MS, MOMENT } from './moved-days.ts';

type Value = Leaf['value'];

/** Digits that a number of JavaScript holds for certain. */
const EXACT_DIGITS = 15;

/** How a value was changed, as a clause; null if nothing is known to have gone wrong. */
export function mishap(before: Value, after: Value): string | null {
  if (before === null || before === '') return null;
  if (typeof before === 'string' && typeof after === 'number') {
    const text = before.trim();
    if (
      /^[+-]?\d{16,}$/.test(text) &&
      Number(text) === after &&
      text.replace(/\D/g, '').length > EXACT_DIGITS
    )
      return 'a JavaScript number can’t hold all of the digits';
    if (/^0\d{2,}$/.test(text) && Number(text) === after)
      return 'the conversion to a number cut off leading zeros';
    if (Number(text) !== after && (parseInt(text) === after || parseFloat(text) === after))
      return 'only the beginning of the text was read as a number (parseInt, parseFloat)';
  }
  if (
    typeof before === 'string' &&
    (after === true || after === 1) &&
    /^(?:false|off|no)$/i.test(before.trim())
  )
    return 'the text was taken for true, as any text is (Boolean("false"))';
  if (
    typeof before === 'number' &&
    typeof after === 'number' &&
    !Number.isInteger(before) &&
    Math.trunc(before) === after
  )
    return 'the decimals were cut off';
  if (typeof before === 'boolean' && after === String(before)) return 'the boolean became a text';
  if (typeof before === 'string' && typeof after === 'string') {
    const [, day] = DAY.exec(before) ?? [];
    const [, other] = MOMENT.exec(after) ?? [];
    if (day !== undefined && DAY.test(after) && Math.abs(Date.parse(day) - Date.parse(after)) === DAY_MS)
      return 'the day moved by one, as it does when a local midnight is written in UTC (toISOString)';
    if (
      day !== undefined &&
      other !== undefined &&
      day !== other &&
      Math.abs(Date.parse(day) - Date.parse(other)) <= DAY_MS
    )
      return 'the date became a time, and the time zone moved it to another day';
  }
  return null;
}
