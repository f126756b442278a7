/** The MCP tool that sends a recorded request again: to compare what came with what was recorded, or for a CPU profile of it. */
import { createError, isHindsightError } from '../../errors.ts';
import type { CpuSampler, KeptCpu } from '../../profiler/cpu-samples.ts';
import { busiestFunctionIn, callTree, isSampled } from '../../profiler/cpu-tree.ts';
import type { Panel } from '../../profiler/panel.ts';
import type { FoundProfile } from '../../profiler/profiles.ts';
import { presentPanel } from '../../render/present-panel.ts';
import { sectionMarkdown } from '../../render/rows-markdown.ts';
import { TOKEN_PATTERN, urls } from '../../urls.ts';
import { blocks, code, fence, prose } from '../../view-helpers/markdown.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { compareMarkdown } from './compare-markdown.ts';
import { compareProfiles } from './compare-profiles.ts';
import { cpuFormOf } from './cpu-form.ts';
import { type Call, type McpTool, TOKEN, tokenOf } from './mcp-tools.ts';
import type { PageServices } from './page-services.ts';
import { statusOf } from './profile-markdown.ts';
import { replayProfile } from './replay-profile.ts';
import { isSafe, type Replay } from './replay-request.ts';
import { createUnknownTokenError } from './unknown-token.ts';

/** Of the response's body, in characters. */
const LONGEST_BODY = 1500;
/** Of each section of the CPU panel. */
const CPU_ROWS = 8;
const { bytesText, count, durationText } = numberHelpers;

interface RecordedResponse {
  response: { contentType: string | null; bytes: number; text: string | null } | null;
}

function sentText({ method, path, headers, body, masked }: Replay): string {
  const names = Object.keys(headers).map((name) => code(name));
  return blocks([
    `Sent ${code(`${method} ${path}`, 300)} with ${names.length === 0 ? 'no headers' : names.join(', ')}${body === null ? '' : ` and ${bytesText(Buffer.byteLength(body))} of body`}.`,
    masked.length === 0
      ? ''
      : `Not sent, because their values were masked: ${masked.map((name) => code(name)).join(', ')}. Give them as \`headers\` if the request needs them.`,
  ]);
}

function cameText({ profile }: FoundProfile, origin: string | null): string {
  const { token, durationMs } = profile;
  const data = profile.panels.request?.data as RecordedResponse | null | undefined;
  const { contentType, bytes, text } = data?.response ?? { contentType: null, bytes: 0, text: null };
  const facts = [
    prose(statusOf(profile)),
    contentType === null ? 'no content type' : code(contentType),
    bytesText(bytes),
    ...(durationMs === null ? [] : [durationText(durationMs)]),
  ];
  return blocks([
    `Came back as token ${code(token)}: ${facts.join(', ')}.`,
    origin === null ? '' : `<${origin}${urls.profile(token)}>`,
    text === null || text === '' ? '' : fence(text.slice(0, LONGEST_BODY)),
  ]);
}

/** The functions that ran, without the tree of calls. */
function cpuText({ profile, amendments }: FoundProfile, panels: readonly Panel[]): string {
  const kept = profile.panels.cpu?.data as KeptCpu | null | undefined;
  if (kept === null || kept === undefined)
    return 'No CPU profile of it was made: another process may have served it.';
  if (!isSampled(kept))
    return 'skipped' in kept ? `No CPU profile of it was made: ${prose(kept.skipped)}` : '';
  const busiest = busiestFunctionIn(callTree(kept));
  const panel = panels.find(({ name }) => name === 'cpu');
  const { sections = [] } = panel === undefined ? {} : (presentPanel(panel, { profile, amendments }) ?? {});
  return blocks([
    `## CPU: ${durationText(kept.ownMs)} in ${count(kept.samples, 'sample')}`,
    busiest === null
      ? 'No single function of the application took most of it.'
      : `Most of it in ${code(busiest.what)}${busiest.place === null ? '' : ` at ${code(busiest.place)}`}.`,
    ...sections
      .filter(({ id }) => id !== 'tree')
      .map((section) => sectionMarkdown({ ...section, rows: section.rows.slice(0, CPU_ROWS) })),
  ]);
}

/** The next request to its address is sampled. */
function armCpu({ profile }: FoundProfile, cpu: CpuSampler | undefined): string {
  const form = cpuFormOf(profile, cpu);
  if (form === null)
    throw createError('BAD_REQUEST', ['CPU profiles are off (PROFILER_CPU), or this is not a request.']);
  cpu?.arm(profile);
  return form.address;
}

/** Empty where nothing may be sent. */
export function createReplayTools(services: PageServices): McpTool[] {
  const { profiles, panels, cpu, replay: allowed = 'safe' } = services;
  if (allowed === 'off') return [];
  const isCpuOff = cpu === undefined || cpu.isOff;

  async function read(given: unknown): Promise<FoundProfile> {
    const token = tokenOf(given);
    if (token === null || !TOKEN_PATTERN.test(token))
      throw createError('BAD_FILTER', ['token', 'is missing or not six hexadecimal digits']);
    const found = await profiles.read(token);
    if (found === null) throw await createUnknownTokenError(services, token);
    return found;
  }

  async function send(before: FoundProfile, { args, origin, server, signal }: Call): Promise<string> {
    const headers = (args.headers ?? {}) as Record<string, unknown>;
    const isForCpu = args.cpu === true;
    if (allowed !== 'all' && !isSafe(before.profile))
      throw createError('BAD_REQUEST', [
        `${before.profile.method} may change something, so it is not sent again. PROFILER_REPLAY=all, or the option replay, allows it.`,
      ]);
    const { replay, status, after } = await replayProfile(services, before, {
      given: { headers },
      cpu: isForCpu,
      server,
      signal,
    });
    if (after === null) return blocks([sentText(replay), `The response was ${status}. It was not recorded.`]);
    return blocks([
      sentText(replay),
      cameText(after, origin),
      // A sampled request is slower, so that it says little beside the other.
      isForCpu
        ? cpuText(after, panels)
        : compareMarkdown(before.profile, after.profile, {
            comparison: compareProfiles(before, after, panels),
            repeated: 'B',
          }),
    ]);
  }

  async function run(call: Call): Promise<string> {
    const before = await read(call.args.token);
    if (call.args.cpu !== true) return send(before, call);
    const address = armCpu(before, cpu);
    try {
      return await send(before, call);
    } catch (error) {
      if (!isHindsightError(error) || error.code !== 'BAD_REQUEST' || cpu?.isArmed(before.profile) !== true)
        throw error;
      throw createError(
        'BAD_REQUEST',
        [
          `${error.message} The next request to ${address} within ten minutes gets a CPU profile: send it yourself, then ask for its panel cpu.`,
        ],
        { cause: error },
      );
    }
  }

  return [
    {
      name: 'replay',
      title: 'Send a request again',
      description:
        'Sends a recorded request to the application once more, as it was recorded, and compares the two: for a change, before and after. ' +
        (isCpuOff
          ? ''
          : 'With cpu=true it takes a CPU profile of it instead, which names the function and the line that took the time. ') +
        (allowed === 'all' ? 'All methods are allowed, so it may change data.' : 'GET and HEAD only.'),
      properties: {
        token: TOKEN,
        headers: {
          type: 'object',
          additionalProperties: { type: 'string' },
          description: 'Values for headers that were masked, such as cookie or authorization.',
        },
        ...(isCpuOff
          ? {}
          : { cpu: { type: 'boolean', description: 'Take a CPU profile. Default: compare the two.' } }),
      },
      required: ['token'],
      annotations: {
        // A GET may change something, too.
        readOnlyHint: false,
        destructiveHint: allowed === 'all',
        idempotentHint: false,
      },
      run,
    },
  ];
}
