/** nodemailer 6 and later, CommonJS and ES module: the class of its transports is found from one that sends nothing. */
import { tracingChannel } from 'node:diagnostics_channel';
import type { LibraryPatch } from '../libraries.ts';
import { traceCall, type Traced, tracedCallback } from './trace.ts';
import { wrapMethod } from './wrap-method.ts';

export interface MailMessage extends Traced {
  /** As passed to `sendMail`. */
  data: unknown;
  defaults: unknown;
  /** `SMTP`, `SMTP (pool)`, `Sendmail`, `JSONTransport`, or what a plugin calls itself. */
  transport: unknown;
}

interface Mail {
  transporter?: { name?: unknown };
  _defaults?: unknown;
}

interface Exports {
  createTransport?: (options: object) => object;
  /** Handed over by the ES module. */
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
    wrapMethod(
      prototypeOf(exports as Exports),
      'sendMail',
      (original) =>
        function (this: unknown, ...args) {
          if (!mailChannel.start.hasSubscribers) return Reflect.apply(original, this, args);
          const { transporter, _defaults } = this as Mail;
          const message: MailMessage = { data: args[0], defaults: _defaults, transport: transporter?.name };
          if (typeof args[1] === 'function')
            args[1] = tracedCallback(mailChannel, message, args[1] as (...given: unknown[]) => unknown);
          return traceCall(mailChannel, message, () => Reflect.apply(original, this, args));
        },
    ),
};
