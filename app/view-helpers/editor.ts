/**
 * Links of a place of the application: to its source, and to the developer's editor. Places are stored relative to the application's
 * folder, which the process that shows the page knows; so links are created there and never stored.
 */
import { createHash } from 'node:crypto';
import { dropOldest } from '../profiler/drop-oldest.ts';
import { urls } from '../urls.ts';
import { markup, type SafeHtml } from './safe-html.ts';
import { textHelpers } from './text.ts';

/** How to open a file on the developer's machine. */
export interface EditorOptions {
  url: string;
  by?: string;
  /** The application's folder, here. */
  root: string;
  paths?: Readonly<Record<string, string>>;
}

export interface FilePlace {
  file: string | null;
  line: number | null;
  column: number | null;
}

const PLACE = /^(.+?):(\d{1,9})(?::(\d{1,9}))?$/;

function parsePlace(place: string): FilePlace {
  const match = PLACE.exec(place);
  if (match === null) return { file: place, line: null, column: null };
  const [, file = '', line, column] = match;
  return { file, line: Number(line), column: column === undefined ? null : Number(column) };
}

function withoutEnd(path: string): string {
  return path.replaceAll('\\', '/').replace(/\/+$/, '');
}

/** Encoded by segment; the colon of a drive stays. */
function encodePath(path: string): string {
  return path
    .split('/')
    .map((part, index) => (index === 0 && /^[a-z]:$/i.test(part) ? part : encodeURIComponent(part)))
    .join('/');
}

/** null for files outside the application: input can forge a stack, so absolute paths are linked only below a mapped folder. */
function createEditorUrl(editor?: EditorOptions): (place: FilePlace) => string | null {
  if (editor === undefined) return () => null;
  const root = withoutEnd(editor.root);
  const mapped = Object.entries(editor.paths ?? {})
    .map(([from, to]) => ({ from: withoutEnd(from), to: withoutEnd(to) }))
    .sort((a, b) => b.from.length - a.from.length);

  function localPath(file: string): string | null {
    if (file.includes(':') || file.includes('\\') || file.split('/').includes('..')) return null;
    const isAbsolute = file.startsWith('/');
    const path = isAbsolute ? file : `${root}/${file}`;
    const rule = mapped.find(({ from }) => path.startsWith(`${from}/`));
    if (rule === undefined) return isAbsolute && !path.startsWith(`${root}/`) ? null : path;
    return rule.to + path.slice(rule.from.length);
  }

  return ({ file, line, column }) => {
    const path = file === null || file === '' ? null : localPath(file.toWellFormed());
    if (path === null) return null;
    const encoded = encodePath(path);
    return editor.url.replace(/\/?%f|%[lc]/g, (found) => {
      if (found === '%l') return String(line ?? 1);
      if (found === '%c') return String(column ?? 1);
      // The slash before the file belongs to it.
      return found === '%f' ? encoded : `/${encoded.replace(/^\//, '')}`;
    });
  };
}

const LONGEST_PLACE = 200;

/** File names: a finding's place may also be a header or an address, such as `localhost:5432`. */
const SOURCE = /\.(?:[cm]?[jt]sx?|ejs|pug|hbs|html|sql|vue|svelte|astro|coffee)$/i;

/** Files that the profiler may show, if the profile has the place: see observe/stacks/source-files.ts. */
const SHOWN = /^(?!\/|[a-z]:)(?!.*(?:^|\/)(?:\.|node_modules\/)).+\.(?:[cm]?[jt]sx?|ejs|vue|svelte|coffee)$/i;

export function sourcePlace(place: string): string | null {
  const { file, line } = parsePlace(place);
  return file !== null && line !== null && place.length <= LONGEST_PLACE && SHOWN.test(file)
    ? `${file}:${line}`
    : null;
}

export function placeKey(place: string): string {
  return createHash('sha256').update(place).digest('hex').slice(0, 12);
}

function placeText(place: string | null | undefined): SafeHtml {
  if (place === null || place === undefined || place === '') return markup``;
  const shown = place.length > LONGEST_PLACE ? textHelpers.beginning(place, LONGEST_PLACE) : place;
  return markup`<span class="at mono any">${textHelpers.foreign(shown)}</span>`;
}

/** Places whose links are remembered: the same ones are on nearly every page. */
const MOST_PLACES = 300;

interface PlaceLinks {
  text: SafeHtml;
  editor: string | null;
  source: string | null;
}

export function createEditorHelpers(editor?: EditorOptions, tokenOf: () => string | null = () => null) {
  const editorUrl = createEditorUrl(editor);
  const knownLinks = new Map<string, PlaceLinks>();

  function linksOf(place: string): PlaceLinks {
    const known = knownLinks.get(place);
    if (known !== undefined) return known;
    const parts = parsePlace(place);
    const shown = sourcePlace(place);
    const links = {
      text: textHelpers.foreign(place),
      editor: SOURCE.test(parts.file ?? '') ? editorUrl(parts) : null,
      source: shown === null ? null : placeKey(shown),
    };
    knownLinks.set(place, links);
    dropOldest(knownLinks, MOST_PLACES);
    return links;
  }

  function linkTo(place: string | null | undefined, name?: string): SafeHtml {
    if (typeof place !== 'string' || place.length > LONGEST_PLACE) return placeText(place);
    const { text, editor: link, source } = linksOf(place);
    const shown = name === undefined ? text : textHelpers.foreign(name);
    const token = tokenOf();
    if (token !== null && source !== null) {
      const opens = link === null ? '' : markup` data-editor="${link}"`;
      return markup`<a class="at mono any" href="${urls.source(token, source)}" data-source${opens} title="Show the source">${shown}</a>`;
    }
    return link === null
      ? placeText(place)
      : markup`<a class="at mono any" href="${link}" title="Open in the editor">${shown}</a>`;
  }

  return {
    editorUrl,
    editorBy: editor === undefined ? null : (editor.by ?? 'PROFILER_EDITOR'),
    /** `src/orders/order-view.ts:41`, with a link to its source, or else to the editor; empty if the place is unknown. Of callers, the file’s name only. */
    place(place: string | null | undefined, callers: readonly string[] = []): SafeHtml {
      const before = callers.map((caller) => markup`${linkTo(caller, caller.replace(/^.*\//, ''))} → `);
      return markup`${before}${linkTo(place)}`;
    },
    placeEditor: (place: string) => editorUrl(parsePlace(place)),
  } as const;
}
