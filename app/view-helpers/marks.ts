/** Marks: status, method, badge, the dot of a kind of work, icons and the copy button. */
import { SPAN_KINDS } from '../profiler/read/span.ts';
import { markup, type SafeHtml } from './safe-html.ts';
import { STATUS_CODES } from '../node-http.ts';

export type Tone = 'plain' | 'bad' | 'warn' | 'accent' | 'good';

const WRITING_METHODS = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
const KINDS = new Set(Object.keys(SPAN_KINDS));

/** `s2` … `s5`; `s0` for a process that ended first; empty if unknown. */
function statusClass(status: number | null | undefined): string {
  return typeof status === 'number' && status >= 100 && status < 600 ? `s${Math.floor(status / 100)}` : '';
}

export function createMarkHelpers(assetUrl: (file: string) => string) {
  const icons = new Map<string, SafeHtml>();
  const drawIcon = (name: string): SafeHtml =>
    markup`<svg class="icon" aria-hidden="true"><use href="${assetUrl('icons.svg')}#${name}"/></svg>`;
  function icon(name: string): SafeHtml {
    const known = icons.get(name) ?? drawIcon(name);
    icons.set(name, known);
    return known;
  }

  return {
    icon,
    statusClass,
    statusPhrase: (status: number | null | undefined): string => STATUS_CODES[String(status)] ?? '',
    status: (status: number | null | undefined): SafeHtml =>
      typeof status === 'number'
        ? markup`<span class="status ${statusClass(status)}">${status}</span>`
        : markup`<span class="status quiet" title="no response yet">&ndash;</span>`,
    method(method: unknown): SafeHtml {
      const name = typeof method === 'string' ? method : '';
      const shown = name.length > 24 ? `${name.slice(0, 24)}…` : name;
      return markup`<span class="method${WRITING_METHODS.has(name.toUpperCase()) ? ' write' : ''}">${shown}</span>`;
    },
    badge: (text: string, tone: Tone = 'plain'): SafeHtml =>
      markup`<span class="badge${tone === 'plain' ? '' : ` ${tone}`}"><bdi>${text.slice(0, 60)}</bdi></span>`,
    /** Shown beside the name of the kind: app, db, out, view, wait. */
    kindDot: (kind: string): SafeHtml =>
      markup`<span class="dot k-${KINDS.has(kind) ? kind : 'app'}" aria-hidden="true"></span>`,
    kindClass: (kind: string): string => `k-${KINDS.has(kind) ? kind : 'app'}`,
    /** Copies the value of its row, or the text of the element with this id. Shown if scripts run. */
    copy: (label: string, id = ''): SafeHtml =>
      markup`<button class="ibtn copy js-only" type="button" data-copy="${id}" aria-label="Copy ${label.slice(0, 80)}" title="Copy ${label.slice(0, 80)}">${icon('copy')}</button>`,
  } as const;
}
