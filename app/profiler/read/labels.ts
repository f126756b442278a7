/**
 * The labels that findings add to rows of the list. No rule runs for a request that nobody looks at: labels are made for the rows that somebody is
 * about to see or filter, and for the newest of this process while it has little to do and somebody has read lately.
 */
import type { Finding } from './finding.ts';
import { labelsOf } from '../store/profile-index.ts';
import { isUnlabelled } from '../store/query-rows.ts';
import { createOneAtATime } from '../one-at-a-time.ts';
import { runningOutside } from '../record/outside.ts';
import type { ProfileQuery } from '../store/storage.ts';
import type { Row, Store, StoredRecord } from '../store/store.ts';
import { createTurns } from '../turns.ts';

export interface Labels {
  label(rows: readonly Row[]): Promise<boolean>;
  labelMatches(query: Omit<ProfileQuery, 'limit' | 'offset'>): Promise<boolean>;
  again(row: Row): Promise<void>;
  stored(row: Row): void;
  noteReader(): void;
}

const WAIT_MS = 500;
/** Rows that a search labels before it asks for more. */
const AT_ONCE = 100;
const MOST_IDLE = 200;
const IDLE_EVERY_MS = 25;
const IDLE_TURN_MS = 2;
/** Longer records wait for a reader: one of them may take longer than a turn. */
const LONGEST_IDLE = 131_072;
/** Share of its time that the event loop may be busy. */
const IDLE_SHARE = 0.5;
/** Milliseconds after somebody has read. */
const READER_MS = 600_000;

export function createLabels({
  store,
  findingsOf,
}: {
  store: Pick<Store, 'read' | 'find' | 'label'>;
  findingsOf: (found: StoredRecord) => Promise<readonly Finding[]>;
}): Labels {
  // Without a context: the store's work is no request's.
  const outside = runningOutside();
  const waiting: Row[] = [];
  let timer: NodeJS.Timeout | null = null;
  const inTurn = createOneAtATime();
  let readAt = -Infinity;
  let load = performance.eventLoopUtilization();

  async function labelOne(row: Row): Promise<void> {
    const found = await store.read(row.token);
    if (found === null || found.row.startedAt !== row.startedAt) return;
    const labels = labelsOf(await findingsOf(found));
    Object.assign(row, labels);
    await store.label(row.token, labels);
  }

  async function labelUntil(rows: readonly Row[], until: number): Promise<boolean> {
    const between = createTurns();
    for (const row of rows) {
      if (!isUnlabelled(row)) continue;
      if (performance.now() > until) return false;
      await between();
      await labelOne(row);
    }
    return true;
  }

  async function labelMatches(
    wanted: Omit<ProfileQuery, 'limit' | 'offset'>,
    until: number,
  ): Promise<boolean> {
    const filters = { ...wanted, hasFinding: undefined, mark: undefined, text: undefined };
    const query = { ...filters, sort: undefined, descending: undefined, isLabelled: false };
    for (;;) {
      const { rows } = await store.find({ ...query, counted: false, limit: AT_ONCE, offset: 0 });
      if (!(await labelUntil(rows, until))) return false;
      // Records that are damaged or gone can't be labelled.
      if (rows.every(isUnlabelled)) return true;
    }
  }

  async function labelSome(): Promise<void> {
    timer = null;
    const { utilization } = performance.eventLoopUtilization(load);
    load = performance.eventLoopUtilization();
    const until = performance.now() + (utilization < IDLE_SHARE ? IDLE_TURN_MS : 0);
    while (performance.now() < until) {
      const row = waiting.pop();
      if (row === undefined) break;
      // A reader makes the labels if this fails.
      if (isUnlabelled(row) && row.bytes <= LONGEST_IDLE) await labelOne(row).catch(() => undefined);
    }
    schedule();
  }

  function schedule(): void {
    if (timer !== null || waiting.length === 0 || performance.now() - readAt > READER_MS) return;
    timer = outside(() => setTimeout(() => void labelSome(), IDLE_EVERY_MS).unref());
  }

  return {
    again: labelOne,
    label(rows) {
      const until = performance.now() + WAIT_MS;
      return inTurn(() => labelUntil(rows, until));
    },
    labelMatches(wanted) {
      const until = performance.now() + WAIT_MS;
      return inTurn(() => labelMatches(wanted, until));
    },
    stored(row) {
      if (!isUnlabelled(row)) return;
      waiting.push(row);
      if (waiting.length > MOST_IDLE) waiting.shift();
      schedule();
    },
    noteReader() {
      readAt = performance.now();
      schedule();
    },
  };
}
