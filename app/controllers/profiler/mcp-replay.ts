/** The MCP tool that sends a recorded request again and compares what came with what was recorded. */
import { createError } from '../../errors.ts';
import type { FoundProfile } from '../../profiler/profiles.ts';
import { TOKEN_PATTERN, urls } from '../../urls.ts';
import { blocks, code, fence, prose } from '../../view-helpers/markdown.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { compareMarkdown } from './compare-markdown.ts';
import { compareProfiles } from './compare-profiles.ts';
import type { Call, McpTool } from './mcp-tools.ts';
import type { PageServices } from './page-services.ts';
import { statusOf } from './profile-markdown.ts';
import { importedAtOf } from './profile-model.ts';
import { replayProfile } from './replay-profile.ts';
import { isSafe, type Replay } from './replay-request.ts';
import { createUnknownTokenError } from './unknown-token.ts';

/** Of the response's body, in characters. */
const LONGEST_BODY = 1500;
const { bytesText, durationText } = numberHelpers;

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

/** Empty where nothing may be sent. */
export function createReplayTools(services: PageServices): McpTool[] {
  const { profiles, panels, replay: allowed = 'safe' } = services;
  if (allowed === 'off') return [];

  async function read(token: unknown): Promise<FoundProfile> {
    if (typeof token !== 'string' || !TOKEN_PATTERN.test(token))
      throw createError('BAD_FILTER', ['token', 'is missing or not six hexadecimal digits']);
    const found = await profiles.read(token);
    if (found === null) throw await createUnknownTokenError(services, token);
    return found;
  }

  async function run({ args, origin, server, signal }: Call): Promise<string> {
    const before = await read(args.token);
    if (allowed !== 'all' && importedAtOf(before.amendments) !== null)
      throw createError('BAD_REQUEST', ['It was imported, so only a person may send it, on its page.']);
    if (allowed !== 'all' && !isSafe(before.profile))
      throw createError('BAD_REQUEST', [
        `${before.profile.method} may change something, so it is not sent again. PROFILER_REPLAY=all, or the option replay, allows it.`,
      ]);
    const headers = (args.headers ?? {}) as Record<string, unknown>;
    const { replay, status, after } = await replayProfile(services, before, { headers, server, signal });
    if (after === null) return blocks([sentText(replay), `The response was ${status}. It was not recorded.`]);
    return blocks([
      sentText(replay),
      cameText(after, origin),
      compareMarkdown(before.profile, after.profile, compareProfiles(before, after, panels)),
    ]);
  }

  return [
    {
      name: 'replay',
      title: 'Send a request again',
      description:
        'Sends a recorded request to the application once more, as it was recorded, and compares the two: for a change, before and after. ' +
        (allowed === 'all' ? 'All methods are allowed, so it may change data.' : 'GET and HEAD only.'),
      properties: {
        token: { type: 'string', pattern: '^[0-9a-f]{6}$', description: 'Token of the request.' },
        headers: {
          type: 'object',
          additionalProperties: { type: 'string' },
          description: 'Values for headers that were masked, such as cookie or authorization.',
        },
      },
      required: ['token'],
      annotations: {
        readOnlyHint: allowed === 'safe',
        destructiveHint: allowed === 'all',
        idempotentHint: allowed === 'safe',
      },
      run,
    },
  ];
}
