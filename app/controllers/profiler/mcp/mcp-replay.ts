/**
 * The MCP tools that send a recorded request again: `verify` compares what comes with what was recorded, `cpu_profile` samples it, `values`
 * reads the values where it failed.
 */
import { createError, isHindsightError } from '../../../errors.ts';
import { dataOf } from '../../../panels/shared/panel-data.ts';
import { busiestFunctionIn, callTree, isSampled } from '../../../profiler/read/cpu-tree.ts';
import type { Panel } from '../../../profiler/panel.ts';
import type { Profile } from '../../../profiler/profile.ts';
import type { FoundProfile } from '../../../profiler/read/profiles.ts';
import { presentNamed } from '../../../render/present-panel.ts';
import { sectionMarkdown } from '../../../render/rows-markdown.ts';
import { urls } from '../../../urls.ts';
import { blocks, code, fence, heading, prose } from '../../../view-helpers/markdown.ts';
import { bytesText, count, durationText } from '../../../view-helpers/numbers.ts';
import { compareMarkdown } from '../compare/compare-rows.ts';
import { knownResponse } from '../compare/compare-bodies.ts';
import { type Comparison, compareProfiles, findingChanges, verdictOf } from '../compare/compare-profiles.ts';
import { armCpu } from '../cpu-form.ts';
import { type Call, type McpTool, TOKEN } from './mcp-tools.ts';
import type { PageServices } from '../page-services.ts';
import { statusOf } from '../profile-markdown.ts';
import { type Purpose, replayProfile } from '../replay/replay-profile.ts';
import { isSafe, type Replay } from '../replay/replay-request.ts';
import { requireNamedProfile } from '../require-profile.ts';
import { hasValues, NO_VALUES, readValuesForm, waitForValues } from '../values-form.ts';

const LONGEST_BODY = 1500;
const CPU_ROWS = 8;
const MOST_DIFFERENCES = 10;
const NO_SERVER =
  'Nothing can be sent: the application is not running, or listens on no TCP port. Start it and try again.';
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
  const { contentType = null, bytes = 0, text = null } = dataOf(profile, 'request')?.response ?? {};
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

function cpuText({ profile, amendments }: FoundProfile, panels: readonly Panel[]): string {
  const kept = dataOf(profile, 'cpu');
  if (kept === null) return 'No CPU profile of it was made: another process may have served it.';
  if (!isSampled(kept))
    return 'skipped' in kept ? `No CPU profile of it was made: ${prose(kept.skipped)}` : '';
  const busiest = busiestFunctionIn(callTree(kept));
  const { sections } = presentNamed(panels, 'cpu', { profile, amendments });
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

function verdictText(before: FoundProfile, after: FoundProfile, comparison: Comparison): string {
  const [a, b] = [statusOf(before.profile), statusOf(after.profile)];
  const queries = comparison.figures.find(({ label }) => label === 'Queries');
  const body = comparison.values.filter(({ section }) => section === 'response body');
  const known = [knownResponse(before.profile), knownResponse(after.profile)];
  const differences = body
    .slice(0, MOST_DIFFERENCES)
    .map(({ name, a: was, b: is }) => `- ${code(name)}: ${code(was ?? 'absent')} → ${code(is ?? 'absent')}`);
  return blocks([
    heading(2, verdictOf(findingChanges(comparison.findings, 'B'))),
    [
      a === b ? `Status as before: ${prose(a)}.` : `Status: ${prose(a)} → ${prose(b)}.`,
      ...(queries === undefined || queries.change === 0 ? [] : [`Queries: ${queries.a} → ${queries.b}.`]),
      body.length > 0
        ? `The response body differs in ${count(body.length, 'place')}:`
        : known.includes('nothing')
          ? 'The response bodies could not be compared, because one was not recorded.'
          : known.includes('part')
            ? 'The recorded parts of the response bodies are the same.'
            : 'The response body is the same.',
    ].join(' '),
    differences.join('\n'),
    body.length > differences.length ? `… and ${body.length - differences.length} more below.` : '',
  ]);
}

async function valuesText(services: PageServices, found: FoundProfile): Promise<string> {
  if (!hasValues(found.profile)) return NO_VALUES;
  const form = await readValuesForm(services, found);
  const { lead = [], sections } = presentNamed(services.panels, 'exception', found);
  return blocks([
    form?.from?.said ?? 'It did not fail this time.',
    ...lead,
    ...sections.filter(({ rows }) => rows.length > 0).map((section) => sectionMarkdown(section)),
  ]);
}

export function createReplayTools(services: PageServices): McpTool[] {
  const { panels, cpu, values, replay: allowed } = services;
  if (allowed === 'off') return [];

  function requireAllowed({ method }: Pick<Profile, 'method'>): void {
    if (allowed === 'all' || isSafe({ method })) return;
    throw createError('BAD_REQUEST', [
      `${method} may change something, so it is not sent again. PROFILER_REPLAY=all, or the option replay, allows it.`,
    ]);
  }

  async function send({ args, origin, server, signal }: Call, purpose: Purpose): Promise<string> {
    const before = await requireNamedProfile(services, args.token);
    if (server === null) throw createError('BAD_REQUEST', [NO_SERVER]);
    const headers = (args.headers ?? {}) as Record<string, unknown>;
    requireAllowed(before.profile);
    const { replay, status, after } = await replayProfile(services, before, {
      purpose,
      caught: args.caught === true,
      given: { headers },
      server,
      signal,
    });
    if (after === null) return blocks([sentText(replay), `The response was ${status}. It was not recorded.`]);
    // One that is sampled or stopped is slower, so that it says little beside the other.
    if (purpose !== 'compare') {
      const text = purpose === 'cpu' ? cpuText(after, panels) : await valuesText(services, after);
      return blocks([sentText(replay), cameText(after, origin), text]);
    }
    const comparison = await compareProfiles(before, after, panels);
    return blocks([
      verdictText(before, after, comparison),
      sentText(replay),
      cameText(after, origin),
      compareMarkdown(before.profile, after.profile, { comparison, repeated: 'B' }),
    ]);
  }

  async function sample(call: Call): Promise<string> {
    const before = await requireNamedProfile(services, call.args.token);
    const address = armCpu(before.profile, cpu);
    try {
      return await send(call, 'cpu');
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

  async function readValues(call: Call): Promise<string> {
    if (call.args.wait === true) {
      const caught = call.args.caught === true;
      const { method, route } = waitForValues(
        services,
        (await requireNamedProfile(services, call.args.token)).profile,
        caught,
      );
      return `The next ${method} ${code(route)} that fails within ten minutes is recorded with its values: send it yourself, then ask for its panel exception.`;
    }
    return send(call, 'values');
  }

  const common = {
    properties: {
      token: TOKEN,
      headers: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'Values for headers that were masked, such as cookie or authorization.',
      },
    },
    required: ['token'],
    annotations: {
      // A GET may change something, too.
      readOnlyHint: false,
      destructiveHint: allowed === 'all',
      idempotentHint: false,
    },
  };
  const which = allowed === 'all' ? 'All methods are allowed, so it may change data.' : 'GET and HEAD only.';
  const verify: McpTool = {
    ...common,
    name: 'verify',
    title: 'Verify a change',
    description:
      'After a change: sends a recorded request to the application once more, as it was recorded, and says which findings are gone, still ' +
      `there or new, and at which JSON path the response differs. ${which}`,
    run: (call) => send(call, 'compare'),
  };
  const cpuProfile: McpTool = {
    ...common,
    name: 'cpu_profile',
    title: 'Profile the CPU of a request',
    description: `Sends a recorded request once more and takes a CPU profile of it: which function and line took the time. ${which}`,
    run: sample,
  };
  const valuesTool: McpTool = {
    ...common,
    name: 'values',
    title: 'Values where a request failed',
    description:
      'For a request that failed: sends it once more with the debugger attached, and shows the arguments and locals of each own frame, ' +
      `those that the message names first, and the errors that the code swallowed. ${which}`,
    properties: {
      ...common.properties,
      wait: { type: 'boolean', description: 'Send nothing: read the next request of its route that fails.' },
      caught: { type: 'boolean', description: 'Also values of errors that the code catches.' },
    },
    run: readValues,
  };
  return [
    verify,
    ...(cpu === undefined || cpu.isOff ? [] : [cpuProfile]),
    ...(values === undefined ? [] : [valuesTool]),
  ];
}
