/**
 * `renderPage(view, model)`: renders all HTML: profiler pages, the error page and responses to what the HTTP parser rejected.
 *
 * It uses its own EJS, which is not observed: `res.render` would use a host's engine and be recorded as the host's view. Templates are compiled at
 * first use and cached here, because EJS's global cache is shared with the host.
 *
 * Rules of the templates (a test holds them):
 * - `<%= %>` for every value. What a helper returns as SafeHtml passes unescaped; recorded text never does.
 * - `<%- %>` for `include('partials/empty', { … })` only. An included template gets exactly what it is given, and
 *   `h`, `include`, `hasView(name)`. Rows of long lists use `later` instead: each is rendered by itself, and fails alone.
 *   Names lie below `views/`, without ending. Optional parameters are read as `locals.name`.
 * - They are laid out to be read: line breaks and what indents them do not reach the page (`joinLines`).
 * - No inline style, script or handler. A panel's own view, `views/panels/<name>.ejs`, gets { data, model, rows, profile,
 *   panel, query }: what it recorded, what `view.model` returned, its rows. Its empty state and failures are shown around it
 *   (partials/panel-body).
 *
 * docs/internals/templates.md lists the helpers in `h`. Each partial in views/partials says on its first line what it is given.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import ejs from 'ejs';
import { messageOf } from '../errors.ts';
import { escapeHtml, markup } from '../view-helpers/safe-html.ts';
import type { EditorOptions } from '../view-helpers/editor.ts';
import { createViewHelpers } from '../view-helpers/index.ts';
import { createTurns } from '../profiler/turns.ts';

const EJS_TAG = /(<%[\s\S]*?%>)/;
const BREAK = /\s*\n\s*/g;

function joinText(text: string): string {
  return text.replace(BREAK, (space, at: number) => {
    const before = text[at - 1] ?? '>';
    const after = text[at + space.length] ?? '<';
    return before === '>' || after === '<' ? '' : ' ';
  });
}

/**
 * The template without its layout, by JSX's rule: a line break with its spaces vanishes beside a tag of HTML or EJS, and becomes one space
 * between two words. Spaces within a line stay; `<%= ' ' %>` adds one at the end of a line.
 */
function joinLines(template: string): string {
  return template
    .split(EJS_TAG)
    .map((part) => (part.startsWith('<%') ? part : joinText(part)))
    .join('');
}

export interface RenderPage {
  (view: string, model: object): string;
  /** In UTF-8. The host's requests run between rows of long lists. `edit` changes a piece of the page, which begins and ends between elements. */
  inTurns(view: string, model: object, edit?: (html: string) => string): Promise<Buffer>;
}

export interface PageRendererOptions {
  viewsFolder: string;
  assets: { url(file: string): string };
  editor?: EditorOptions | undefined;
}

type Template = (model: object) => string;

/** Where a part of the page follows; recorded text has no `<`. */
const LATER = /<!--later:(\d+)-->/;

interface View {
  text: string;
  filename: string;
  templates: Map<string, Template>;
}

/** All at once: the package may be installed again, or its build replaced, while the process runs. */
function readViews(folder: string): ReadonlyMap<string, View> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ejs'),
  );
  return new Map(
    files.map((file) => {
      const filename = join(folder, file);
      const text = joinLines(readFileSync(filename, 'utf8'));
      return [file.slice(0, -'.ejs'.length).replaceAll(sep, '/'), { text, filename, templates: new Map() }];
    }),
  );
}

/** Names that a model may not have: words of the language, and what EJS and we bind. */
const TAKEN = new Set(
  (
    'h include later hasView locals escapeFn rethrow arguments eval break case catch class const continue debugger default delete ' +
    'do else enum export extends false finally for function if import in instanceof let new null return static super ' +
    'switch this throw true try typeof var void while with yield'
  ).split(' '),
);
const IDENTIFIER = /^(?!__)[A-Za-z_$][\w$]*$/;

export function createPageRenderer({ viewsFolder, assets, editor }: PageRendererOptions): RenderPage {
  let shown: string | null = null;
  let waiting: (() => string)[] = [];
  const helpers = createViewHelpers({ assetUrl: (file) => assets.url(file), editor, tokenOf: () => shown });
  const views = readViews(viewsFolder);

  function viewOf(name: string): View {
    const view = views.get(name);
    if (view === undefined) throw new Error(`There is no view "${name}".`);
    return view;
  }

  /**
   * EJS binds the names of a model by `with`, in which V8 looks up each name at each use: half the cost of a page. So they are declared, and
   * the template is in a block of its own, where it may declare them again.
   */
  function compile({ text, filename }: View, names: readonly string[]): Template {
    const bare = names.filter((name) => IDENTIFIER.test(name) && !TAKEN.has(name) && text.includes(name));
    const declared = `const { h, include, later, hasView } = this; let { ${bare.join(', ')} } = locals;`;
    return ejs.compile(`<% { ${declared} { %>${text}<% } } %>`, {
      filename,
      escape: escapeHtml,
      compileDebug: false,
      rmWhitespace: false,
      _with: false,
      // Our own `include`: EJS's would compile for each page, or use its global cache.
      context: { h: helpers, include: render, later, hasView },
    });
  }

  function templateOf(view: View, model: object): Template {
    const names = Object.keys(model);
    const key = names.join('\n');
    const template = view.templates.get(key) ?? compile(view, names);
    view.templates.set(key, template);
    return template;
  }

  function hasView(name: string): boolean {
    return views.has(name);
  }

  function render(name: string, model: object = {}): string {
    try {
      return templateOf(viewOf(name), model)(model);
    } catch (error) {
      if (error instanceof ViewError) throw error;
      throw new ViewError(name, error);
    }
  }

  function later(name: string, model: object): string {
    return `<!--later:${waiting.push(() => render(name, model)) - 1}-->`;
  }

  /** What a template renders at once, and the parts that it left for later. */
  function renderNow(token: string | null, make: () => string): [html: string, parts: (() => string)[]] {
    const before = { shown, waiting };
    [shown, waiting] = [token, []];
    try {
      return [make(), waiting];
    } finally {
      ({ shown, waiting } = before);
    }
  }

  function madeLater(make: () => string): string {
    try {
      return make();
    } catch (error) {
      return markup`<p class="bad">${messageOf(error)}</p>`.toString();
    }
  }

  function* piecesOf(token: string | null, make: () => string): Generator<string, void> {
    const [html, parts] = renderNow(token, make);
    for (const [at, piece] of html.split(LATER).entries()) {
      const part = at % 2 === 0 ? undefined : parts[Number(piece)];
      if (part === undefined) yield piece;
      else yield* piecesOf(token, () => madeLater(part));
    }
  }

  const pieces = (name: string, model: object) => piecesOf(tokenIn(model), () => render(name, model));

  return Object.assign((name: string, model: object) => [...pieces(name, model)].join(''), {
    async inTurns(name: string, model: object, edit = (html: string) => html) {
      const between = createTurns();
      const made: Buffer[] = [];
      for (const piece of pieces(name, model)) {
        made.push(Buffer.from(edit(piece)));
        await between();
      }
      return Buffer.concat(made);
    },
  });
}

function tokenIn(model: object): string | null {
  const { profile, page } = model as Record<'profile' | 'page', { token?: unknown } | undefined>;
  const token = profile?.token ?? page?.token;
  return typeof token === 'string' ? token : null;
}

/** A template failed; the message names it. */
export class ViewError extends Error {
  constructor(view: string, cause: unknown) {
    super(`The view "${view}" failed: ${messageOf(cause)}`, { cause });
    this.name = 'ViewError';
  }
}
