/** The items of the list on the database page, and their orders. */
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { type DatabaseData, type DatabaseGroup, GROUP_LABELS, GROUP_TONES } from './data.ts';
import { timesOf } from '../shared/query-groups.ts';

export interface Badge {
  text: string;
  tone: 'bad' | 'warn' | 'plain' | 'accent';
}

/** Characters of a statement in the line of a row. */
export const LINE_LENGTH = 240;
/** Characters of a statement below its row. */
export const STATEMENT_LENGTH = 3000;

/** A row of the list before it is built: only those of one page are. */
export interface ListItem {
  /** Indexes of queries. */
  members: readonly number[];
  /** That of a group; null for a single query. */
  id: string | null;
  badge: Badge | null;
}

export function badgeOf(group: DatabaseGroup): Badge {
  const { kind } = group;
  return { text: `${GROUP_LABELS[kind]} × ${numberHelpers.count(timesOf(group))}`, tone: GROUP_TONES[kind] };
}

function single(index: number): ListItem {
  return { members: [index], id: null, badge: null };
}

/** In the order they ran; a group takes the place of its first member. */
export function asRun(data: DatabaseData): ListItem[] {
  const items: ListItem[] = [];
  data.queries.forEach((query, index) => {
    const group = query.group === null ? undefined : data.groups[query.group];
    if (group === undefined) items.push(single(index));
    else if (group.members[0] === index)
      items.push({ members: group.members, id: `r${(query.group ?? 0) + 1}`, badge: badgeOf(group) });
  });
  return items;
}

export function byTime(data: DatabaseData): ListItem[] {
  return data.queries
    .map(({ durationMs }, index) => ({ index, durationMs: durationMs ?? Infinity }))
    .sort((a, b) => b.durationMs - a.durationMs)
    .map(({ index }) => single(index));
}

export function failedOnly(data: DatabaseData): ListItem[] {
  return data.queries.flatMap(({ error }, index) => (error === null ? [] : [single(index)]));
}

/** One item per statement, the longest total time first. */
export function byStatement(data: DatabaseData): ListItem[] {
  const members = data.statements.map((): number[] => []);
  const total = data.statements.map(() => 0);
  data.queries.forEach(({ statement, durationMs }, index) => {
    members[statement]?.push(index);
    total[statement] = (total[statement] ?? 0) + (durationMs ?? 0);
  });
  return members
    .map((list, statement) => ({ list, statement }))
    .sort((a, b) => (total[b.statement] ?? 0) - (total[a.statement] ?? 0))
    .map(({ list, statement }) => ({ members: list, id: `t${statement + 1}`, badge: null }));
}

function statementText(data: DatabaseData, index: number): string {
  return data.statements[data.queries[index]?.statement ?? 0]?.sql ?? '';
}

export function matches(data: DatabaseData, { members }: ListItem, text: string): boolean {
  const [first = 0] = members;
  if (statementText(data, first).toLowerCase().includes(text)) return true;
  return members.some((index) => {
    const { caller, error, bindings } = data.queries[index] ?? { caller: null, error: null, bindings: [] };
    const values = bindings.map(({ value }) => (typeof value === 'string' ? value : JSON.stringify(value)));
    return [caller ?? '', error ?? '', ...values].some((part) => part.toLowerCase().includes(text));
  });
}
