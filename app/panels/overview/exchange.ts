/** Received, Steps and Sent: three lists in the order in which they ran. */
import type { PresentFrom } from '../../profiler/panel.ts';
import type { Row, Section } from '../../profiler/rows.ts';
import { type ComparedValue, compareValues } from '../shared/compare-values.ts';
import { dataOf } from '../shared/panel-data.ts';
import { askedSteps } from './asked.ts';
import type { Ran } from './ran.ts';
import { receivedSteps } from './received.ts';
import { sentSteps } from './sent.ts';
import type { Step } from './step.ts';

export interface Exchange {
  /** Sections whose rows are steps, those without any left out. */
  sections: Section[];
  /** Fields that have another value or type in one of the places. */
  changed: ComparedValue[];
}

function section(id: string, title: string, rows: readonly Row[], more: Partial<Section> = {}): Section {
  return {
    id,
    title,
    unit: 'at',
    columns: { number: 'At', label: 'What', text: 'Value', place: 'Line' },
    rows,
    ...more,
  };
}

/** Steps without a time stand where they are; those of what was received by the time when they were known. */
function inOrder(steps: readonly Step[]): Step[] {
  return steps.toSorted((a, b) => (a.number ?? 0) - (b.number ?? 0));
}

export function exchangeOf({ profile, beside }: Pick<PresentFrom, 'profile' | 'beside'>, ran: Ran): Exchange {
  const compared = compareValues({
    request: dataOf(profile, 'request'),
    database: dataOf(profile, 'database'),
  });
  const asked = askedSteps(profile, { beside, compared });
  return {
    sections: [
      section('received', 'Received', inOrder(receivedSteps(profile, { ran, compared }))),
      section('asked', 'Steps', asked.steps, { left: asked.left }),
      section('sent', 'Sent', sentSteps(profile, { ran, compared })),
    ].filter(({ rows }) => rows.length > 0),
    changed: compared.filter(({ change }) => change === 'value' || change === 'type'),
  };
}
