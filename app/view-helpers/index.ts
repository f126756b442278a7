/**
 * The helpers of all templates, passed as `h`: numbers with units, times, escaped text, code, marks and addresses. They return plain strings
 * or SafeHtml, change no argument and accept null. docs/internals/templates.md lists them with their parameters.
 */
import { amountHelpers } from './amount.ts';
import { shownCallers } from './call-path.ts';
import { codeHelpers } from './code.ts';
import { createEditorHelpers, type EditorOptions } from './editor.ts';
import { frameHelpers } from './frames.ts';
import { historyHelpers } from './history.ts';
import { createMarkHelpers } from './marks.ts';
import { numberHelpers } from './numbers.ts';
import { sourceHelpers } from './source.ts';
import { barsOf } from './time-bars.ts';
import { textHelpers } from './text.ts';
import { ticksOf } from './ticks.ts';
import { tree } from './tree.ts';
import { valueHelpers } from './values.ts';
import { markup, type SafeHtml } from './safe-html.ts';
import { urls } from '../urls.ts';

export interface ViewHelperOptions {
  assetUrl: (file: string) => string;
  editor?: EditorOptions | undefined;
  tokenOf?: () => string | null;
}

function join(items: readonly unknown[], separator = ', '): SafeHtml {
  return markup`${items.flatMap((item, index) => (index === 0 ? [item] : [separator, item]))}`;
}

export function createViewHelpers({ assetUrl, editor, tokenOf }: ViewHelperOptions) {
  const editors = createEditorHelpers(editor, tokenOf);
  return {
    ...numberHelpers,
    ...amountHelpers,
    ...textHelpers,
    ...codeHelpers,
    ...sourceHelpers,
    ...frameHelpers,
    ...historyHelpers,
    ...valueHelpers,
    ...editors,
    ...createMarkHelpers(assetUrl),
    barsOf,
    callers: shownCallers,
    ticks: ticksOf,
    tree,
    asset: assetUrl,
    url: urls,
    markup,
    join,
  } as const;
}
