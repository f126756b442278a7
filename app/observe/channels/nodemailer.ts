/** nodemailer 6 and later, CommonJS and ES module: the class of its transports is found from one that sends nothing. */
import { tracingChannel } from 'node:diagnostics_channel';
import type { LibraryPatch } from '../libraries.ts';
import { publishCalls, type Traced } from './trace.ts';

export interface MailMessage extends Traced {
  data: unknown;
  defaults: unknown;
  transport: unknown;
}

interface Mail {
  transporter?: { name?: unknown };
  _defaults?: unknown;
}

interface Exports {
  createTransport?: (options: object) => object;
  Mail?: { prototype?: object };
}

export const mailChannel = tracingChannel('express-hindsight:nodemailer:send');

function prototypeOf({ Mail, createTransport }: Exports): unknown {
  if (Mail?.prototype !== undefined) return Mail.prototype;
  const transport = createTransport?.({ jsonTransport: true });
  return transport === undefined ? null : Object.getPrototypeOf(transport);
}

export const nodemailerPatch: LibraryPatch = {
  name: 'nodemailer',
  module: { file: 'dist/esm/mailer/index.js', names: ['Mail'] },
  patch: (exports) =>
    publishCalls(
      prototypeOf(exports as Exports),
      'sendMail',
      mailChannel,
      (mail, [data]): MailMessage => {
        const { transporter, _defaults: defaults } = mail as Mail;
        return { data, defaults, transport: transporter?.name };
      },
      { callbackAt: 1 },
    ),
};
