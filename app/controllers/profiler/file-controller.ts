/** A profile as one file that opens without a server: `/_profiler/<token>.html`. */
import type { BesideProfile } from '../../profiler/panel.ts';
import type { ProfileIndex } from '../../profiler/profile-index.ts';
import { childrenOf, readBeside } from './beside-profile.ts';
import { attachment, createRespond, HTML } from './respond.ts';
import type { PageAction, PageServices } from './page-services.ts';
import { panelShown } from './panel-shown.ts';
import { endingOf, hasContent, menuOf, OVERVIEW, readShown, type ShownProfile } from './profile-model.ts';
import { replayMarkOf } from './replay-profile.ts';
import { requireProfile } from './require-profile.ts';
import { createHash } from 'node:crypto';
import { escapeHtml } from '../../view-helpers/safe-html.ts';

/** Marks of views/profiler/file.ejs; recorded text has no `<`. */
const PANEL = /<!--panel:([a-z_]+)-->([\s\S]*?)<!--\/panel-->/g;
/** Recorded text has no quote, so what stands in quotes is an attribute of ours. */
const HREF = / href="([^"]*)"/g;
/** The editor of the machine that the file was made on, with the folder of the application there. */
const EDITOR = / data-editor="[^"]*"/g;
const IDS = / (id|for|aria-labelledby|aria-describedby|aria-controls)="([^"]*)"/g;
const OURS = /^(?:\/_profiler\/([0-9a-f]{6}))?(?:\?([^#]*))?(?:#(.*))?$/;
const PANEL_PARAMETER = /(?:^|;)panel=([a-z_]+)(?:&amp;|$)/;
const WITHOUT_SERVER =
  'form, .actions, .ibtn, .tools, .find {display: none !important} a:not([href]) {color: inherit; text-decoration: none}\n';

interface SingleFile {
  token: string;
  title: string;
  body: string;
  css: string;
}

function idIn(panel: string | null, id: string): string {
  return panel === null ? id : `${panel}-${id}`;
}

/** Where a link leads inside the file; null: outside of it, which is text for a reader who has no server. It stays as escaped as it was. */
function targetOf(href: string, panel: string | null, token: string): string | null {
  const [all, of, query, fragment] = OURS.exec(href) ?? [];
  if (all === undefined || (of !== undefined && of !== token)) return null;
  const shown = PANEL_PARAMETER.exec(query ?? '')?.[1] ?? panel;
  if (fragment !== undefined && fragment !== '') return `#${idIn(shown, fragment)}`;
  return shown === panel ? null : `#${shown ?? ''}`;
}

function inFile(html: string, panel: string | null, token: string): string {
  return html
    .replace(EDITOR, '')
    .replace(IDS, (_all, name: string, ids: string) => {
      const given = ids.split(' ').map((id) => idIn(panel, id));
      return ` ${name}="${given.join(' ')}"`;
    })
    .replace(HREF, (_all, href: string) => {
      const target = targetOf(href, panel, token);
      return target === null ? '' : ` href="${target}"`;
    });
}

function singleFile(file: SingleFile): { html: string; policy: string } {
  const css = `${file.css}${WITHOUT_SERVER}`;
  const hash = createHash('sha256').update(css).digest('base64');
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`;
  const panels: string[] = [];
  const around = file.body.replace(PANEL, (_all, name: string, html: string) => {
    panels.push(inFile(html, name, file.token));
    return '<!--panel-->';
  });
  let next = 0;
  const body = inFile(around, null, file.token).replace(/<!--panel-->/g, () => panels[next++] ?? '');
  const html =
    `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="content-security-policy" content="${policy}">\n` +
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" content="light dark">\n' +
    `<title>${escapeHtml(file.title)}</title>\n<style>${css}</style>\n</head>\n<body>\n${body}\n</body>\n</html>\n`;
  return { html, policy };
}

export function createFileController(services: PageServices): Record<'file', PageAction> {
  const { renderPage, foot, assets } = services;
  const respond = createRespond(services);

  function renderBody(
    { profile, amendments, findings, panels: all }: ShownProfile,
    { children, beside }: { children: readonly ProfileIndex[]; beside: BesideProfile },
  ): string {
    const panels = all.filter(({ name }) => hasContent(profile, name));
    return renderPage('profiler/file', {
      profile,
      children,
      panel: panels.find(({ name }) => name === OVERVIEW),
      findings,
      menu: { ...menuOf(profile, panels), empty: [] },
      panels: panels.map((panel) =>
        panelShown(panel, {
          profile,
          amendments,
          query: { all: '1' },
          ...(panel.name === OVERVIEW ? { beside } : {}),
        }),
      ),
      repeats: replayMarkOf(amendments)?.of ?? null,
      foot,
    });
  }

  return {
    async file(page) {
      const { token = '' } = page.params;
      const shown = await readShown(services, await requireProfile(services, page));
      const { profile } = shown;
      const [children, beside] = await Promise.all([
        childrenOf(services, profile),
        readBeside(services, shown),
      ]);
      const { html, policy } = singleFile({
        token,
        title: `${profile.method} ${profile.url}: ${endingOf(profile)} · Hindsight`,
        body: renderBody(shown, { children, beside }),
        css: assets.plain('hindsight.css').body.toString(),
      });
      const headers = {
        ...attachment(profile, 'html'),
        'content-security-policy': `${policy}; frame-ancestors 'none'; sandbox`,
      };
      respond(page, { type: HTML, body: html, headers });
    },
  };
}
