import type { BrowserCode, BrowserFact } from '../../profiler/read/browser-report.ts';
import type { Block, Detail, Row } from '../../profiler/read/rows.ts';
import { type ListData, listPanel } from '../shared/list-panel.ts';

export type BrowserData = ListData<BrowserFact>;

const LINES_SHOWN = 4;

const BAD: readonly BrowserFact['kind'][] = ['error', 'rejection', 'call'];

function labelOf({ kind, name, directive }: BrowserFact): string {
  if (kind === 'console') return 'console.error';
  if (kind === 'call') return 'Request failed';
  if (kind === 'policy') return directive ?? 'policy';
  if (kind === 'file') return `<${name ?? 'file'}> not loaded`;
  return name ?? 'Error';
}

function textOf({ kind, message, url, frames }: BrowserFact): string {
  const [frame] = frames;
  if (kind === 'console') return frame?.code?.lines.at(-1)?.trim() ?? '';
  return kind === 'error' || kind === 'rejection' ? (message ?? '') : (url ?? message ?? '');
}

function stackOf({ frames }: BrowserFact): string {
  return frames.map(({ name, place }) => (name === '' ? `at ${place}` : `at ${name} (${place})`)).join('\n');
}

function codeBlock({ from, lines }: BrowserCode): Block {
  const shown = lines.slice(-LINES_SHOWN);
  const first = from + lines.length - shown.length;
  return {
    text: shown.join('\n'),
    lines: shown.map((text, index) => ({
      text,
      number: first + index,
      mark: index === shown.length - 1 ? 'hot' : undefined,
    })),
  };
}

function detailOf(fact: BrowserFact): Detail[] {
  const code = fact.frames[0]?.code;
  return [
    { title: 'Page', fields: [{ label: 'Address', value: fact.page }] },
    ...(code === undefined ? [] : [{ title: fact.frames[0]?.place ?? '', block: codeBlock(code) }]),
    ...(fact.frames.length < 2 ? [] : [{ title: 'Stack', block: { text: stackOf(fact) } }]),
    ...fact.calls.map(({ request: token, method, path, status }) => ({
      title: 'Request',
      link: { label: `${method} ${path} (${status ?? 'no response'})`, token },
    })),
  ];
}

export const browserPanel = listPanel({
  name: 'browser',
  title: 'Browser',
  fact: 'browser',
  noun: 'reports of the browser',
  menu: { key: 'b', optional: true, rank: 55, label: 'browser', onlyWhenWrong: true },
  searched: ['message', 'url', 'place'],
  nothing: {
    what: 'Nothing failed in the browser.',
    why: 'Recorded by the toolbar: errors, rejections, console.error, failed and blocked requests.',
  },
  letter: 'b',
  section: {
    id: 'reports',
    title: 'Then, in the browser',
    note: 'as reported by the page',
    unit: 'at',
    columns: { label: 'What', text: 'Message', number: 'After the request began', place: 'Front end' },
  },
  summary: ({ items }) => ({ tone: items.some(({ kind }) => BAD.includes(kind)) ? 'bad' : 'warn' }),
  row: (fact): Omit<Row, 'id'> => ({
    label: labelOf(fact),
    text: textOf(fact),
    number: fact.atMs,
    tone: BAD.includes(fact.kind) ? 'bad' : 'warn',
    ...(fact.name === 'report' ? { badges: ['report only'] } : {}),
    place: fact.frames[0]?.place ?? null,
    fields: [
      {
        label: 'Requests',
        value:
          fact.calls
            .map(({ method, path, status }) => `${method} ${path} (${status ?? 'no response'})`)
            .join(', ') || null,
      },
    ],
    block: { text: stackOf(fact) },
    detail: () => detailOf(fact),
  }),
});
