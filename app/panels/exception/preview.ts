/** What the toolbar shows of what was thrown: each link of the chain, and where in own code. */
import type { PanelPreview } from '../../profiler/panel.ts';
import type { ExceptionData } from './index.ts';
import { firstRows, noteOf } from '../shared/preview.ts';
import { nameOfPlace } from './place.ts';

export function previewException({ errors }: ExceptionData): PanelPreview {
  const [first] = errors;
  const place = first?.place ? nameOfPlace(first.place) : null;
  const links = errors.flatMap(({ thrown, late, status }) =>
    thrown.chain.map((link, index) => ({ link, index, late, status })),
  );
  return {
    facts: place === null ? [] : [['Where', place]],
    ...firstRows(links, ({ link, index, late, status }) => ({
      text: `${link.class}: ${link.message}`,
      note: noteOf(
        index > 0 ? 'caused it' : status === null ? null : `answered ${status}`,
        late && 'after the answer',
      ),
      tone: index === 0 && (status === null || status >= 500) ? 'bad' : 'warn',
    })),
  };
}
