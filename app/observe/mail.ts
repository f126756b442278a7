/** Mails, published by the patch of nodemailer -> facts `mail`. Nothing is read from streams or files. */
import { truncateText } from '../profiler/record/plain.ts';
import { mailChannel, type MailMessage } from './channels/nodemailer.ts';
import { observeCalls } from './observe-calls.ts';
import type { Called } from './stacks/caller.ts';
import type { ObserverParts } from './subscribe.ts';

export interface MailAttachment {
  name: string;
  contentType: string | null;
  bytes: number | null;
}

export interface MailFact extends Called {
  from: string;
  to: string[];
  cc: string[];
  bcc: string[];
  subject: string;
  text: string | null;
  html: string | null;
  attachments: MailAttachment[];
  transport: string | null;
  startMs: number;
  durationMs: number | null;
  messageId: string | null;
  response: string | null;
  rejected: string[];
  error: string | null;
}

declare module '../profiler/record/facts.ts' {
  interface Facts {
    mail: MailFact;
  }
}

type Fields = Readonly<Record<string, unknown>>;

const TEXT_LENGTH = 4000;
const HTML_LENGTH = 50_000;
const LINE_LENGTH = 500;
const MOST_ADDRESSES = 50;
const MOST_ATTACHMENTS = 20;

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function lineOf(value: unknown): string {
  return typeof value === 'string' ? truncateText(value, LINE_LENGTH) : '';
}

/** `Ada <ada@example.com>`; a text may contain several addresses. */
function addressesOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.slice(0, MOST_ADDRESSES).flatMap(addressesOf);
  if (typeof value === 'string') return value === '' ? [] : [lineOf(value)];
  const { name, address } = fieldsOf(value);
  if (typeof address !== 'string') return [];
  return [lineOf(typeof name === 'string' && name !== '' ? `${name} <${address}>` : address)];
}

function textOf(value: unknown, length: number): string | null {
  if (typeof value === 'string') return truncateText(value, length);
  if (Buffer.isBuffer(value)) return truncateText(value.toString('utf8', 0, length * 4), length);
  const { content } = fieldsOf(value);
  return typeof content === 'string' || Buffer.isBuffer(content) ? textOf(content, length) : null;
}

function sizeOf({ content, encoding }: Fields): number | null {
  if (typeof content === 'string')
    return encoding === 'base64' ? Buffer.byteLength(content, 'base64') : Buffer.byteLength(content);
  return ArrayBuffer.isView(content) ? content.byteLength : null;
}

function attachmentsOf(value: unknown): MailAttachment[] {
  if (!Array.isArray(value)) return [];
  return value.slice(0, MOST_ATTACHMENTS).map((attachment: unknown) => {
    const fields = fieldsOf(attachment);
    const { filename, path, contentType } = fields;
    const name = lineOf(filename) || lineOf(path).split(/[\\/]/).at(-1);
    return {
      name: name === undefined || name === '' ? 'attachment' : name,
      contentType: typeof contentType === 'string' ? lineOf(contentType) : null,
      bytes: sizeOf(fields),
    };
  });
}

function described({ defaults, data: given, transport }: MailMessage, findCalled: () => Called) {
  const data = { ...fieldsOf(defaults), ...fieldsOf(given) };
  return {
    from: addressesOf(data.from).join(', '),
    to: addressesOf(data.to),
    cc: addressesOf(data.cc),
    bcc: addressesOf(data.bcc),
    subject: lineOf(data.subject),
    text: textOf(data.text, TEXT_LENGTH),
    html: textOf(data.html, HTML_LENGTH),
    attachments: attachmentsOf(data.attachments),
    transport: lineOf(transport) || null,
    messageId: null,
    response: null,
    rejected: [],
    error: null,
    ...findCalled(),
  };
}

export function observeMail(parts: ObserverParts): { close(): void } {
  const close = observeCalls<MailMessage, 'mail'>({
    ...parts,
    fact: 'mail',
    library: 'nodemailer',
    channel: mailChannel,
    describe: described,
    outcome(fact, { result }) {
      const { messageId, response, rejected } = fieldsOf(result);
      fact.messageId = lineOf(messageId) || null;
      fact.response = lineOf(response) || null;
      fact.rejected = addressesOf(rejected);
    },
  });
  return { close };
}
