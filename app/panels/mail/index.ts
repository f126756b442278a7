/** The panel of mails: who got what, by which transport, and how it went. */
import type { Facts } from '../../profiler/record/facts.ts';
import type { Row } from '../../profiler/read/rows.ts';
import { bytesText } from '../../view-helpers/numbers.ts';
import { type ListData, listPanel } from '../shared/list-panel.ts';

type Mail = Facts['mail'];

function attachmentText({ name, bytes }: Mail['attachments'][number]): string {
  return bytes === null ? name : `${name} (${bytesText(bytes)})`;
}

function headOf({ from, to, cc, bcc, attachments, messageId, response }: Mail): string {
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

function htmlRow(html: string, id: string, token: string): Row {
  const block = { text: html };
  return {
    id: `${id}-html`,
    label: 'HTML',
    depth: 1,
    block,
    detail: () => [
      {
        title: 'Preview',
        note: 'As a page it runs no script and loads nothing.',
        link: { label: 'Open as a page', token, mail: id },
      },
      { title: 'Source', block },
    ],
  };
}

export type MailData = ListData<Facts['mail']>;

export const mailPanel = listPanel({
  name: 'mail',
  title: 'Mail',
  fact: 'mail',
  noun: 'mails',
  menu: { key: 'a', optional: true, rank: 45, label: 'mails' },
  searched: ['subject', 'to', 'from'],
  nothing: { what: 'This request sent no mail.', why: 'Recorded: nodemailer 6 and later.' },
  letter: 'm',
  section: {
    id: 'mails',
    title: 'Mails',
    note: 'in the order they were sent',
    columns: { label: 'Subject', text: 'To', badges: 'Failure', place: 'Sent from' },
  },
  totals: ['Mails', 'Time sending mail'],
  span: ({ subject }) => `mail ${subject}`,
  row: (mail) => ({
    label: mail.subject === '' ? '(no subject)' : mail.subject,
    text: mail.to.join(', '),
    ...(mail.error === null && mail.rejected.length > 0 ? { tone: 'warn', badges: ['refused in part'] } : {}),
    note: mail.durationMs === null ? 'not finished' : null,
    key: `mail ${mail.caller ?? mail.subject}`,
    fields: [
      { label: 'Transport', value: mail.transport },
      { label: 'Cc', value: mail.cc.join(', ') || null },
      { label: 'Bcc', value: mail.bcc.join(', ') || null },
      { label: 'Attached', value: mail.attachments.map(attachmentText).join(', ') || null },
      { label: 'Refused', value: mail.rejected.join(', ') || null },
    ],
    block: { text: headOf(mail) },
  }),
  below: ({ text, html }, id, token) => [
    ...(text ? [{ id: `${id}-text`, label: 'Text', depth: 1, block: { text } }] : []),
    ...(html ? [htmlRow(html, id, token)] : []),
  ],
});
