/** The panel of mails: who got what, by which transport, and how it went. */
import type { FactReader } from '../../profiler/recorded-facts.ts';
import type { Facts } from '../../profiler/facts.ts';
import type { Panel } from '../../profiler/panel.ts';
import type { Presentation, Row } from '../../profiler/rows.ts';
import { workSpans } from '../../profiler/span.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { totalMs, withRoundedTimes } from '../shared/rows.ts';

type MailFact = Facts['mail'];

export interface MailData {
  mails: MailFact[];
}

function dataOf(record: FactReader): MailData | null {
  const facts = record.all('mail');
  if (facts.length === 0) return null;
  return { mails: facts.map(withRoundedTimes) };
}

function attachmentText({ name, bytes }: MailFact['attachments'][number]): string {
  return bytes === null ? name : `${name} (${numberHelpers.bytesText(bytes)})`;
}

function headOf({ from, to, cc, bcc, attachments, messageId, response }: MailFact): string {
  const lines = [
    ['From', from],
    ['To', to.join(', ')],
    ['Cc', cc.join(', ')],
    ['Bcc', bcc.join(', ')],
    ['Attachments', attachments.map(attachmentText).join(', ')],
    ['Message-ID', messageId ?? ''],
    ['Response', response ?? ''],
  ];
  return lines.flatMap(([name = '', value = '']) => (value === '' ? [] : [`${name}: ${value}`])).join('\n');
}

function rowsOf(mail: MailFact, index: number): Row[] {
  const { subject, to, transport, startMs, durationMs, error, rejected, text, html, caller } = mail;
  const id = `m${index + 1}`;
  const part = (label: string, content: string | null): Row[] =>
    content === null || content === '' ? [] : [{ id: `${id}-${label.toLowerCase()}`, label, depth: 1, block: { text: content } }]; // prettier-ignore
  return [
    {
      id,
      label: subject === '' ? '(no subject)' : subject,
      text: to.join(', '),
      number: durationMs,
      tone: error !== null ? 'bad' : rejected.length > 0 || durationMs === null ? 'warn' : 'plain',
      badges: error !== null ? ['failed'] : rejected.length > 0 ? ['refused in part'] : [],
      note: durationMs === null ? 'not finished' : null,
      place: caller,
      key: `mail ${caller ?? subject}`,
      fields: [
        { label: 'Transport', value: transport },
        { label: 'Start', value: startMs, unit: 'at' },
        { label: 'Refused', value: rejected.join(', ') || null },
        { label: 'Error', value: error },
      ],
      block: { text: headOf(mail) },
    },
    ...part('Text', text),
    ...part('HTML', html),
  ];
}

function present({ mails }: MailData): Presentation {
  const failed = mails.filter(({ error }) => error !== null).length;
  return {
    figures: [
      { label: 'Mails', value: mails.length, compare: 'cost' },
      { label: 'Time in sending mail', value: totalMs(mails), unit: 'ms', compare: 'cost' },
      { label: 'Failed', value: failed, tone: failed > 0 ? 'bad' : 'plain' },
    ],
    sections: [
      {
        id: 'mails',
        title: 'Mails',
        note: 'in the order they were sent',
        columns: { label: 'Subject', text: 'To', badges: 'Failure', place: 'Sent from' },
        card: 'in order',
        rows: mails.flatMap(rowsOf),
      },
    ],
  };
}

export const mailPanel: Panel<MailData> = {
  name: 'mail',
  title: 'Mail',
  key: 'a',
  optional: true,
  toolbar: { rank: 45, label: 'mails' },
  searched: ['subject', 'to', 'from'],
  facts: { mail: 'mails' },
  reads: ['mail'],
  data: dataOf,
  spans: ({ mails }, { endMs }) =>
    workSpans(mails, { endMs, panel: 'mail', letter: 'm', labelOf: ({ subject }) => `mail ${subject}` }),
  summary: ({ mails }) => ({
    text: String(mails.length),
    tone: mails.some(({ error }) => error !== null) ? 'bad' : 'plain',
    count: mails.length,
  }),
  empty: () => ({
    what: 'This request sent no mail.',
    why: 'Recorded: nodemailer 6 and later.',
  }),
  present,
};
