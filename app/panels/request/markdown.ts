/** The request panel as Markdown: the request and its answer as they went over the line, parameters, and the command that repeats it. */
import { blocks, fence, heading, pairs, table } from '../../view-helpers/markdown.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import type { RequestPanelData } from './index.ts';
import { toCurl } from './curl.ts';
import { absenceSentence } from './toolbar-absence.ts';

function head(first: string, headers: RequestPanelData['headers'], body: string | null): string {
  const lines = headers.map(({ name, value }) => `${name}: ${value}`);
  return fence([first, ...lines, ...(body === null ? [] : ['', body])].join('\n'), 'http');
}

function section(title: string, content: string): string {
  return content === '' ? '' : blocks([heading(3, title), content]);
}

function values(rows: readonly { name: string; value: unknown }[]): string {
  return pairs(rows.map(({ name, value }) => [name, value] as const));
}

export function requestMarkdown(data: RequestPanelData): string {
  const { method, url, httpVersion, headers, body, response, query, routeParams, client } = data;
  const fields = body?.fields ?? [];
  const files = table<NonNullable<typeof body>['files'][number]>(
    [
      { title: 'Field', value: ({ field }) => field },
      { title: 'File', value: ({ name }) => name },
      { title: 'Type', value: ({ contentType }) => contentType },
      { title: 'Size', value: ({ bytes }) => numberHelpers.bytesText(bytes), plain: true },
    ],
    body?.files ?? [],
  );
  const status =
    response === null ? '' : `HTTP/${httpVersion} ${response.status ?? ''} ${response.statusMessage}`;
  const answer =
    response === null
      ? ''
      : blocks([
          head(status.trim(), response.headers, response.text),
          response.headersLost ? 'Headers that it had in common with other answers are stored no more.' : '',
          response.truncated ? 'Of the body only the beginning was kept.' : '',
          absenceSentence(response.toolbarAbsent) ?? '',
        ]);
  return blocks([
    section(
      'Request',
      head(`${method} ${url} HTTP/${httpVersion}`, headers, fields.length > 0 ? null : (body?.text ?? null)),
    ),
    body?.truncated === true ? 'Of the body only the beginning was kept.' : '',
    section('Answer', answer),
    section('Route parameters', values(routeParams)),
    section('Query', values(query)),
    section('Form', values(fields)),
    section('Files', files),
    section(
      'Client',
      pairs([
        ['Address', client.address],
        ['Peer', client.peer],
        ['Origin', client.origin],
      ]),
    ),
    section('As a command', fence(toCurl(data).join('\n'), 'sh')),
  ]);
}
