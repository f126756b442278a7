/**
 * A profile as a file that can be opened again: `/_profiler/<token>.html`, `.jsonl` (as it is stored, for `express-hindsight import`), and the form
 * that opens one.
 */
import type { Profile } from '../../profiler/profile.ts';
import { exportLines } from '../../profiler/exported-profile.ts';
import type { FoundProfile } from '../../profiler/profiles.ts';
import { OVERVIEW, readBeside } from './beside-profile.ts';
import { childrenOf } from './children-of.ts';
import { withRouteFindings } from './finding-history.ts';
import { createFindingsModel } from './findings-model.ts';
import { readUpload } from './form-body.ts';
import type { PageAction, PageRequest, PageServices } from './page-services.ts';
import { panelShown } from './panel-shown.ts';
import { hasContent, importedAtOf, menuOf, panelsOf } from './profile-model.ts';
import { replayMarkOf } from './replay-profile.ts';
import { requireProfile } from './require-profile.ts';
import { createRespond, HTML, redirect } from './respond.ts';
import { savedLines } from './saved-lines.ts';
import { createSignedAction } from './signed-action.ts';
import { singleFile } from './single-file.ts';
import { createUnknownTokenError } from './unknown-token.ts';
import { urls } from '../../urls.ts';
import type { ProfileIndex } from '../../profiler/profile-index.ts';
import type { BesideProfile } from '../../profiler/panel.ts';

const LINES_TYPE = 'application/jsonl; charset=utf-8';
/** Of an uploaded file, in bytes. */
const LARGEST = 16 * 1024 * 1024;

export function createFileController(
  services: PageServices,
): Record<'file' | 'lines' | 'import', PageAction> {
  const { profiles, renderPage, foot, rules = {}, assets } = services;
  const respond = createRespond(services);
  const action = createSignedAction(services, (req) => readUpload(req, LARGEST));

  async function readLines(token: string): Promise<string> {
    const exported = await profiles.readExported(token);
    if (exported === null) throw await createUnknownTokenError(services, token);
    return exportLines(exported);
  }

  /** All panels that recorded something. */
  function renderBody(
    profile: Profile,
    amendments: FoundProfile['amendments'],
    { children = [], beside }: { children?: readonly ProfileIndex[]; beside?: BesideProfile } = {},
  ): string {
    const all = panelsOf(profile, services.panels);
    const panels = all.filter(({ name }) => hasContent(profile, name));
    return renderPage('profiler/file', {
      profile,
      children,
      panel: panels.find(({ name }) => name === OVERVIEW),
      titles: Object.fromEntries(all.map(({ name, title }) => [name, title])),
      findings: createFindingsModel(profile, rules, amendments),
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
      importedAt: importedAtOf(amendments),
      foot,
    });
  }

  async function showProblem(page: PageRequest, problem: string): Promise<'responded'> {
    const model = { title: 'File not opened', problem, foot };
    respond(page, { status: 400, type: HTML, body: renderPage('profiler/not-imported', model) });
    return Promise.resolve('responded');
  }

  async function open(form: URLSearchParams, page: PageRequest): Promise<'responded'> {
    const text = form.get('file') ?? '';
    if (text.trim() === '') return showProblem(page, 'No file was chosen, or it is empty.');
    const result = await profiles.importLines(savedLines(text), (profile, amendments) => {
      renderBody(profile, amendments);
    });
    if ('problem' in result) return showProblem(page, result.problem);
    const [first = '', ...others] = result.tokens;
    redirect(respond, page, others.length === 0 ? urls.profile(first, OVERVIEW) : urls.home(), 303);
    return 'responded';
  }

  return {
    async file(page) {
      const { token = '' } = page.params;
      const found = await requireProfile(services, page);
      const lines = await readLines(token);
      const profile = await withRouteFindings(services, found.profile);
      const { amendments } = found;
      const [children, beside] = await Promise.all([
        childrenOf(services, profile),
        readBeside(services, { profile, amendments }),
      ]);
      const { html, policy } = singleFile({
        token,
        title: `${profile.method} ${profile.url}: ${profile.status ?? 'no response'} · Hindsight`,
        body: renderBody(profile, amendments, { children, beside }),
        css: assets.plain('hindsight.css').body.toString(),
        lines,
        origin: page.origin(),
      });
      const headers = {
        'content-disposition': `attachment; filename="${token}.html"`,
        'content-security-policy': `${policy}; frame-ancestors 'none'; sandbox`,
      };
      respond(page, { type: HTML, body: html, headers });
    },
    async lines(page) {
      const { token = '' } = page.params;
      const headers = { 'content-disposition': `attachment; filename="${token}.jsonl"` };
      respond(page, { type: LINES_TYPE, body: await readLines(token), headers });
    },
    import: action(open),
  };
}
