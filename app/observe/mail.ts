/** Mails -> facts `mail`: what the patch of nodemailer publishes. Nothing is read from streams or files. */
import type { Context } from '../profiler/context.ts';
import { truncateText } from '../profiler/plain.ts';
import { failureText } from '../profiler/thrown-value.ts';
import { mailChannel, type MailMessage } from './channels/nodemailer.ts';
import { type ObserverParts, subscribeToCalls } from './subscribe.ts';

export interface MailAttachment {
  name: string;
  contentType: string | null;
  /** null if it is not in memory: a file, an address, a stream. */
  bytes: number | null;
}

export interface MailFact {
  from: string;
  to: string[];
  cc: string[];
  bcc: string[];
  subject: string;
  /** The beginning of each part; null if there is none, or it is not in memory. */
  text: string | null;
  html: string | null;
  attachments: MailAttachment[];
  /** `SMTP`, `Sendmail` …; null if unknown. */
  transport: string | null;
  startMs: number;
  /** To the transport's reply; null while it runs. */
  durationMs: number | null;
  messageId: string | null;
  /** The server's last reply: `250 OK`. */
  response: string | null;
  /** Addresses that the server refused. */
  rejected: string[];
  error: string | null;
  caller: string | null;
}

declare module '../profiler/facts.ts' {
  interface Facts {
    mail: MailFact;
  }
}

type Fields = Readonly<Record<string, unknown>>;

const TEXT_LENGTH = 4000;
const HTML_LENGTH = 10_000;
const LINE_LENGTH = 500;
const MOST_ADDRESSES = 50;
const MOST_ATTACHMENTS = 20;
const FACT_BYTES = 500;
/** Frames between `sendMail` and own code: those of the patch and its tracing channel. */
const FRAMES = 16;

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

/** A part of the mail that is in memory: a text, bytes, or either as `content`. */
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

export function observeMail({ tracker, findCaller }: ObserverParts): { close(): void } {
  const facts = new WeakMap<MailMessage, { context: Context; fact: MailFact }>();

  function start(message: MailMessage): void {
    const context = tracker.observed();
    if (context === undefined || context.isFull('mail')) return;
    const data = { ...fieldsOf(message.defaults), ...fieldsOf(message.data) };
    const fact: MailFact = {
      from: addressesOf(data.from).join(', '),
      to: addressesOf(data.to),
      cc: addressesOf(data.cc),
      bcc: addressesOf(data.bcc),
      subject: lineOf(data.subject),
      text: textOf(data.text, TEXT_LENGTH),
      html: textOf(data.html, HTML_LENGTH),
      attachments: attachmentsOf(data.attachments),
      transport: lineOf(message.transport) || null,
      startMs: context.elapsedMs(),
      durationMs: null,
      messageId: null,
      response: null,
      rejected: [],
      error: null,
      caller: findCaller?.({ frames: FRAMES, near: FRAMES, skip: 'nodemailer' }) ?? null,
    };
    context.add('mail', fact, FACT_BYTES + (fact.text?.length ?? 0) + (fact.html?.length ?? 0));
    facts.set(message, { context, fact });
  }

  function end(message: MailMessage): void {
    const entry = facts.get(message);
    if (entry?.fact.durationMs !== null) return;
    const { context, fact } = entry;
    fact.durationMs = context.elapsedMs() - fact.startMs;
    if (message.error === undefined) {
      const { messageId, response, rejected } = fieldsOf(message.result);
      fact.messageId = lineOf(messageId) || null;
      fact.response = lineOf(response) || null;
      fact.rejected = addressesOf(rejected);
    } else {
      fact.error = failureText(message.error);
    }
  }

  return { close: subscribeToCalls<MailMessage>(mailChannel, { start, asyncStart: end }) };
}
