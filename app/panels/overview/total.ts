/** For a developer whose total is off by cents: it is not the sum of the list beside it, as after a rounding of one side. */
import { isRecord, type Json } from '../../profiler/json.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { Row } from '../../profiler/read/rows.ts';
import { objectsIn, parseBeginning } from '../shared/json-leaves.ts';
import { dataOf } from '../shared/panel-data.ts';

const TOTAL = /^(?:grand_?)?total(?:_?(?:amount|price|cost|eur|euros))?$|^sum$/i;
/** Less is how a computer writes the number; more may be a discount, a tax or another page. */
const [LEAST, MOST] = [0.004, 1];

function numberIn(value: Json | undefined): number {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && /^-?\d{1,12}\.\d{1,4}$/.test(value) ? Number(value) : NaN;
}

/** The sums of the columns that are a number in each entry. */
function sumsOf(list: readonly Record<string, Json>[]): { name: string; sum: number }[] {
  return Object.keys(list[0] ?? {}).flatMap((name) => {
    const sum = list.reduce((before, entry) => before + numberIn(entry[name]), 0);
    return Number.isNaN(sum) ? [] : [{ name, sum }];
  });
}

function offBy(object: Record<string, Json>): string[] {
  const fields = Object.entries(object);
  const lists = fields.flatMap(([name, value]) =>
    Array.isArray(value) && value.length > 1 && value.every(isRecord)
      ? [{ name, entries: value.flatMap((one) => (isRecord(one) ? [one] : [])) }]
      : [],
  );
  const numbers = fields.filter(([, value]) => !Number.isNaN(numberIn(value)) && value !== 0);
  const total = numbers.find(([name]) => TOTAL.test(name));
  const [list, more] = lists;
  // Another number may be a part of it, such as a discount.
  const isAlone = numbers.every((one) => one === total || /id$/i.test(one[0]));
  if (total === undefined || !isAlone || list === undefined || more !== undefined) return [];
  const sums = sumsOf(list.entries).map((one) => ({
    ...one,
    off: Math.abs(numberIn(total[1]) - one.sum),
  }));
  const near = sums.find(({ off }) => off > LEAST && off < MOST);
  if (near === undefined || sums.some(({ off }) => off <= LEAST)) return [];
  return [
    `${total[0]} is ${JSON.stringify(total[1]).replace(/"/g, '')}, and ${near.name} of the ${list.entries.length} ${list.name} add up to ${near.sum.toFixed(2)}`,
  ];
}

export function totalRow(profile: Profile): Row[] {
  const { text = null, truncated = true } = dataOf(profile, 'request')?.response ?? {};
  const json = truncated || text === null ? undefined : parseBeginning(text)?.value;
  if (json === undefined) return [];
  return objectsIn(json)
    .flatMap(offBy)
    .slice(0, 1)
    .map((said) => ({ label: 'total', text: said, note: 'it may be rounded', tone: 'warn' }));
}
