/**
 * A profile in other forms than its page: JSON and Markdown, of the whole or with `?panel=` of one panel, and files for other tools: HAR for
 * browsers, `.otlp.json` for OpenTelemetry, `.cpuprofile` for Chrome DevTools and VS Code.
 */
import { profileOtlp } from '../../export/otlp-profile.ts';
import { createError } from '../../errors.ts';
import { packageVersion } from '../../paths.ts';
import type { BesideProfile, Panel } from '../../profiler/panel.ts';
import type { PanelRecord, Profile } from '../../profiler/profile.ts';
import type { FoundProfile } from '../../profiler/read/profiles.ts';
import { cpuProfileFile } from '../../render/cpuprofile.ts';
import { profileHar } from '../../export/har.ts';
import { presentPanel } from '../../render/present-panel.ts';
import { childrenOf, readBeside } from './beside-profile.ts';
import { cutMarkdown } from './cut-markdown.ts';
import { attachment, createAnswers, JSON_TYPE, jsonForm } from './respond.ts';
import { readOne, readPanelName } from './list/filters.ts';
import type { PageAction, PageRequest, PageServices } from './page-services.ts';
import { OVERVIEW, readShown, type ShownProfile } from './profile-model.ts';
import { profileMarkdown } from './profile-markdown.ts';
import { inTurns } from '../../profiler/turns.ts';
import { requireProfile } from './require-profile.ts';
import { readShortMarkdown } from './short-markdown.ts';

/** Bytes of all panels together. What a request records is limited to 1 MiB; derived values come on top. */
const LARGEST = 4 * 1024 * 1024;

type JsonPanel = PanelRecord & { omittedBytes?: number };

interface Measured {
  name: string;
  record: JsonPanel;
  bytes: number;
}

function measure([name, record]: [string, PanelRecord]): Measured {
  try {
    return { name, record, bytes: Buffer.byteLength(JSON.stringify(record)) };
  } catch (error) {
    return { name, record: { data: null, summary: null, error: String(error) }, bytes: 0 };
  }
}

export function jsonPanels(
  panels: Readonly<Record<string, PanelRecord>>,
  largest = LARGEST,
): Record<string, JsonPanel> {
  const measured = Object.entries(panels).map(measure);
  let excess = measured.reduce((sum, { bytes }) => sum + bytes, 0) - largest;
  for (const panel of measured.toSorted((a, b) => b.bytes - a.bytes)) {
    if (excess <= 0) break;
    excess -= panel.bytes;
    panel.record = { ...panel.record, data: null, omittedBytes: panel.bytes };
  }
  return Object.fromEntries(measured.map(({ name, record }) => [name, record]));
}

const LONGEST = 1024 * 1024;
const NOT_RECORDED = { data: null, summary: null, error: null };

interface Read extends ShownProfile, Pick<FoundProfile, 'source'> {
  panel: Panel | null;
  beside: BesideProfile | undefined;
}

export function createFormsController(
  services: PageServices,
): Record<'json' | 'markdown' | 'har' | 'otlp' | 'cpuProfile', PageAction> {
  const answers = createAnswers(services);

  async function read(page: PageRequest): Promise<Read> {
    const name = readPanelName(page.query);
    const found = await requireProfile(services, page);
    const shown = await readShown(services, found);
    const panel = shown.panels.find((one) => one.name === name) ?? null;
    if (name !== null && panel === null) throw createError('UNKNOWN_PANEL', [name, found.profile.token]);
    const beside = name === OVERVIEW ? await readBeside(services, shown) : undefined;
    return { ...shown, source: found.source, panel, beside };
  }

  function panelJson({ name, title }: Panel, { profile, amendments, beside, panel }: Read): object {
    const presented = panel === null ? null : presentPanel(panel, { profile, amendments, beside });
    const { figures = [], sections = [] } = presented ?? {};
    const { [name]: record } = jsonPanels({ [name]: profile.panels[name] ?? NOT_RECORDED });
    return jsonForm('panel', { token: profile.token, panel: name, title, ...record, figures, sections });
  }

  async function profileJson({ profile, amendments, source }: Read): Promise<object> {
    const children = await childrenOf(services, profile);
    const whole = { ...profile, panels: jsonPanels(profile.panels) };
    return jsonForm('profile', { source, profile: whole, amendments, children });
  }

  function download(ending: string, contentOf: (profile: Profile) => object): PageAction {
    return async (page) => {
      const { profile } = await requireProfile(services, page);
      const headers = attachment(profile, ending);
      answers.respond(page, { type: JSON_TYPE, body: JSON.stringify(contentOf(profile)), headers });
    };
  }

  return {
    async json(page) {
      const found = await read(page);
      const body = found.panel === null ? await profileJson(found) : panelJson(found.panel, found);
      answers.json(page, body);
    },
    async markdown(page) {
      const length = readOne(page.query, 'length');
      if (length !== null && length !== 'short')
        throw createError('BAD_FILTER', ['length', `is "${length}"; give short, or leave it out`]);
      const { panel, beside, ...shown } = await read(page);
      if (length === 'short' && panel === null) {
        answers.markdown(page, await readShortMarkdown(services, shown, { origin: page.origin() }));
        return;
      }
      const written =
        panel === null
          ? { panels: shown.panels, beside: await readBeside(services, shown) }
          : { panels: [panel], beside };
      const markdown = await inTurns(profileMarkdown(shown, written));
      const body = cutMarkdown(markdown, LONGEST, 'Ask for one panel: `?panel=`.');
      answers.markdown(page, body);
    },
    cpuProfile: download('cpuprofile', (profile) => {
      const file = cpuProfileFile(profile);
      if (file === null) throw createError('UNKNOWN_PANEL', ['cpu', profile.token]);
      return file;
    }),
    har: download('har', (profile) =>
      profileHar(profile, { name: 'express-hindsight', version: packageVersion() }),
    ),
    otlp: download('otlp.json', (profile) => profileOtlp(profile, services.exportedBy)),
  };
}
