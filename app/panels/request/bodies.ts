/** Bodies of request and response as rows. */
import { mediaTypeOf } from '../../profiler/http-text.ts';
import { parseJson } from '../../profiler/json.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { NamedValue } from '../../profiler/record/raw-headers.ts';
import { type Block, jsonBlock, type Row, type Section } from '../../profiler/read/rows.ts';
import { noteOf } from '../../view-helpers/amount.ts';
import { bytesText } from '../../view-helpers/numbers.ts';
import { leavesBodyOut } from './curl.ts';
import type { RequestPanelData } from './data.ts';
import { absenceSentence } from './toolbar-absence.ts';

const FORM = 'application/x-www-form-urlencoded';

/** Indented if it is JSON. */
function blockOf(text: string, contentType: string | null): Block {
  const type = mediaTypeOf(contentType);
  if (type !== 'application/json' && !type.endsWith('+json')) return { text };
  const parsed = parseJson(text);
  return parsed === undefined ? { text } : jsonBlock(parsed);
}

/** Characters of a response body that is not folded: one screen. */
const SHOWN_AT_ONCE = 1500;

export function foldedRow(id: string, title: string, block: Block): Row {
  return { id, block, detail: () => [{ title, block }] };
}

export function formFields({ body }: RequestPanelData): { fields: NamedValue[]; isParsed: boolean } {
  if (body === null) return { fields: [], isParsed: true };
  const { fields, parsed, text, contentType } = body;
  if (fields !== null) return { fields: fields as NamedValue[], isParsed: true };
  if (parsed !== undefined || text === null || mediaTypeOf(contentType) !== FORM)
    return { fields: [], isParsed: true };
  const pairs = Array.from(new URLSearchParams(text), ([name, value]) => ({ name, value }));
  return { fields: pairs, isParsed: false };
}

function receivedRows({ body }: RequestPanelData): Row[] {
  if (body === null) return [];
  const { fields, parsed, text, contentType, truncated, bytes, unread } = body;
  const sent = text === null || text === '' ? null : blockOf(text, contentType);
  const isIndented = sent !== null && sent.text !== text;
  const shown =
    parsed === undefined
      ? isIndented
        ? { ...sent, note: 'No parser read it. As sent, indented.' }
        : null
      : typeof parsed === 'string'
        ? { text: parsed }
        : jsonBlock(parsed);
  const rows: Row[] = [];
  if (unread)
    rows.push({ id: 'unread', tone: 'warn', text: 'Not read before the response headers were sent.' });
  if (shown !== null)
    rows.push({ id: 'parsed', block: shown, ...('note' in shown ? { note: shown.note } : {}) });
  if (text !== null && text !== '') {
    const title = truncated ? `As sent, the beginning of ${bytesText(bytes)}` : 'As sent';
    const block = { text };
    const isOnly = shown === null && fields === null;
    rows.push(isOnly ? { id: 'raw-body', note: title, block } : foldedRow('raw-body', title, block));
  } else if (fields === null && parsed === undefined && body.files.length === 0) {
    const note = /^multipart\//i.test(contentType ?? '')
      ? 'No parser read this form. Its parts are not shown, because their values can’t be masked.'
      : 'Binary: only type and size are shown.';
    rows.push({ note });
  }
  return rows;
}

export function receivedSection(data: RequestPanelData): Section {
  const { body } = data;
  return {
    id: 'body',
    title: 'Request body',
    ...(body === null
      ? { none: 'No body was sent.' }
      : { note: noteOf([bytesText(body.bytes), body.contentType?.slice(0, 200) ?? 'no content type']) }),
    rows: receivedRows(data),
    // Else the command to send it again has it.
    ...(leavesBodyOut(data) ? {} : { inMarkdown: false as const }),
  };
}

function answerRow({ response }: RequestPanelData, { kind }: Profile): Row {
  const { text = null, contentType = null, bytes = 0, truncated = false } = response ?? {};
  if (text) {
    const block = blockOf(text, contentType);
    const title = truncated ? `Body, the beginning of ${bytesText(bytes)}` : `Body, ${bytesText(bytes)}`;
    if (block.text.length <= SHOWN_AT_ONCE) return { id: 'answer', block };
    return foldedRow('answer', block.text === text ? title : `${title}, indented`, block);
  }
  if (bytes === 0) return { note: 'No body was sent.' };
  const why =
    kind === 'profiler' || response?.isErrorPage
      ? 'bodies of the profiler’s own pages are not recorded'
      : `it is binary${contentType === null ? '' : ` (${contentType.slice(0, 100)})`}`;
  return { note: `A body of ${bytesText(bytes)} was sent; ${why}.` };
}

export function sentSection(data: RequestPanelData, profile: Profile): Section {
  const { response } = data;
  const rows: Row[] = [];
  if (response !== null && response.status !== null) {
    const { outcome, toolbarBytes, toolbarAbsent } = response;
    if (outcome === 'aborted')
      rows.push({
        tone: 'warn',
        text: 'The response was not finished: the client left, or the connection broke.',
      });
    if (toolbarBytes > 0)
      rows.push({
        id: 'toolbar',
        note: `Body, size and Content-Length are shown without the toolbar’s tag of ${bytesText(toolbarBytes)}.`,
      });
    const absence = absenceSentence(toolbarAbsent);
    if (absence !== null) rows.push({ id: 'no-toolbar', note: absence });
    rows.push(answerRow(data, profile));
  }
  return { id: 'response-body', title: 'Response body', rows };
}
