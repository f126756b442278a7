/** A profile as one file that opens without a server: `/_profiler/<token>.html`. */
import type { BesideProfile } from '../../profiler/panel.ts';
import type { ProfileIndex } from '../../profiler/store/profile-index.ts';
import { childrenOf, readBeside } from './beside-profile.ts';
import { attachment, createRespond, HTML } from './respond.ts';
import type { PageAction, PageServices } from './page-services.ts';
import { panelShown } from './panel-shown.ts';
import { endingOf, hasContent, menuOf, OVERVIEW, readShown, type ShownProfile } from './profile-model.ts';
import { replayMarkOf } from './replay/replay-profile.ts';
import { requireProfile } from './require-profile.ts';
import { createHash } from 'node:crypto';
import { escapeHtml } from '../../view-helpers/safe-html.ts';

/** A mark of views/profiler/file.ejs; recorded text has no `<`. */
const PANEL = /<!--panel:([a-z_]+)-->/;
/** Recorded text has no quote, so what stands in quotes is an attribute of ours. */
const HREF = / href="([^"]*)"/g;
/** The editor of the machine that the file was made on, with the folder of the application there. */
const EDITOR = / data-editor="[^"]*"/g;
const IDS = / (id|for|aria-labelledby|aria-describedby|aria-controls)="([^"]*)"/g;
const OURS = /^(?:\/_profiler\/([0-9a-f]{6}))?(?:\?([^#]*))?(?:#(.*))?$/;
const PANEL_PARAMETER = /(?:^|;)panel=([a-z_]+)(?:&amp;|$)/;
const WITHOUT_SERVER =
  'form, .actions, .ibtn, .tools, .find {display: none !important} a:not([href]) {color: inherit; text-decoration: none}\n';

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

/** Around the body. */
function documentOf(title: string, style: string): { start: string; end: string; policy: string } {
  const css = `${style}${WITHOUT_SERVER}`;
  const hash = createHash('sha256').update(css).digest('base64');
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`;
  const start =
    `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="content-security-policy" content="${policy}">\n` +
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" content="light dark">\n' +
    `<title>${escapeHtml(title)}</title>\n<style>${css}</style>\n</head>\n<body>\n`;
  return { start, end: '\n</body>\n</html>\n', policy };
}

export function createFileController(services: PageServices): Record<'file', PageAction> {
  const { renderPage, foot, assets } = services;
  const respond = createRespond(services);

  /** Each panel is rendered by itself, so that the host's requests run between them. */
  async function renderBody(
    { profile, amendments, findings, panels: all }: ShownProfile,
    { children, beside }: { children: readonly ProfileIndex[]; beside: BesideProfile },
  ): Promise<Buffer[]> {
    const panels = all.filter(({ name }) => hasContent(profile, name));
    const frame = renderPage('profiler/file', {
      profile,
      children,
      panel: panels.find(({ name }) => name === OVERVIEW),
      findings,
      menu: { ...menuOf(profile, panels), empty: [] },
      panels,
      repeats: replayMarkOf(amendments)?.of ?? null,
      foot,
    });
    const pieces: Buffer[] = [];
    for (const [at, piece] of inFile(frame, null, profile.token).split(PANEL).entries()) {
      const panel = at % 2 === 0 ? undefined : panels.find(({ name }) => name === piece);
      if (panel === undefined) {
        pieces.push(Buffer.from(piece));
        continue;
      }
      const page = { profile, amendments, query: { all: '1' } };
      const shown = panelShown(panel, panel.name === OVERVIEW ? { ...page, beside } : page);
      const edit = (html: string): string => inFile(html, panel.name, profile.token);
      pieces.push(await renderPage.inTurns('partials/panel-body', shown, edit));
    }
    return pieces;
  }

  return {
    async file(page) {
      const shown = await readShown(services, await requireProfile(services, page));
      const { profile } = shown;
      const [children, beside] = await Promise.all([
        childrenOf(services, profile),
        readBeside(services, shown),
      ]);
      const { start, end, policy } = documentOf(
        `${profile.method} ${profile.url}: ${endingOf(profile)} · Hindsight`,
        assets.plain('hindsight.css').body.toString(),
      );
      const body = await renderBody(shown, { children, beside });
      const headers = {
        ...attachment(profile, 'html'),
        'content-security-policy': `${policy}; frame-ancestors 'none'; sandbox`,
      };
      respond(page, {
        type: HTML,
        body: Buffer.concat([Buffer.from(start), ...body, Buffer.from(end)]),
        headers,
      });
    },
  };
}
