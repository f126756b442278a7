/** What the toolbar shows of the request itself: what came in and went out. */
import type { PanelPage, PanelPreview } from '../../profiler/panel.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import type { RequestPanelData } from './index.ts';

const { bytesText, count, durationText } = numberHelpers;

export function previewRequest(data: RequestPanelData, { profile }: PanelPage): PanelPreview {
  const { client, body, response, held } = data;
  const { status, statusMessage, route, process } = profile;
  const facts: (readonly [string, string])[] = [];
  if (route !== null) facts.push(['Route', route]);
  facts.push(['Client', client.address]);
  if (body !== null) facts.push(['Body', bytesText(body.bytes)]);
  if (response?.contentType) facts.push(['Answer', `${response.contentType}, ${bytesText(response.bytes)}`]);
  if (response !== null && response.headersAtMs !== null)
    facts.push(['Headers after', durationText(response.headersAtMs)]);
  if (data.jar.length > 0) facts.push(['Cookies', count(data.jar.length)]);
  if (held !== null) facts.push(['Session or user', 'recorded']);
  facts.push(['Process', process]);
  return {
    text: status === null ? 'no answer yet' : `${status} ${statusMessage}`.trim(),
    tone: status === null || status < 400 ? 'plain' : status < 500 ? 'warn' : 'bad',
    facts,
  };
}
