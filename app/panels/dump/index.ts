/** The panel of dumps: values passed to `dump(value)`, with label and line. */
import { listPanel } from '../shared/list-panel.ts';

export const dumpPanel = listPanel({
  name: 'dump',
  title: 'Dump',
  fact: 'dump',
  noun: 'dumped values',
  menu: { key: 'p', rank: 50 },
  searched: ['value', 'label'],
  nothing: {
    what: 'Nothing was dumped.',
    why: 'dump(value, label) copies any value to this panel and returns it. It never appears in the response.',
  },
  letter: 'd',
  section: {
    id: 'dumps',
    title: 'Values',
    note: 'as they were at that moment',
    unit: 'at',
    columns: { label: 'Label', text: 'Value', place: 'Dumped at' },
  },
  row: ({ value, label, type, caller, path, atMs }) => ({
    ...(label === null ? {} : { label }),
    text: value,
    number: atMs,
    place: caller,
    path,
    fields: [{ label: 'Type', value: type }],
  }),
});
