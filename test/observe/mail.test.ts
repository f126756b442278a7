/** nodemailer in its current and previous major version, with transports that send to nobody. */
import { createRequire } from 'node:module';
import * as esm from 'nodemailer';
import { expect } from 'chai';
import { createCallerFinder } from '../../app/observe/stacks/caller.ts';
import { nodemailerPatch } from '../../app/observe/channels/nodemailer.ts';
import { observeMail } from '../../app/observe/mail.ts';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';

const require = createRequire(import.meta.url);
const HERE = /^test\/observe\/mail\.test\.ts:\d+$/;
const message = {
  from: { name: 'Shop', address: 'shop@example.com' },
  to: ['Ada <ada@example.com>', { name: '', address: 'bob@example.com' }],
  subject: 'Your order',
  text: 'Thank you',
  html: Buffer.from('<p>Thank you</p>'),
  attachments: [
    { filename: 'invoice.txt', content: 'twelve euros', contentType: 'text/plain' },
    { path: '/no/such/terms.pdf', contentType: 'application/pdf' },
  ],
};

function newContext(id = 0): Context {
  return new Context({ token: id.toString(16).padStart(6, '0'), kind: 'request' });
}

for (const [version, library] of [
  ['10 (ES module)', esm],
  ['10 (CommonJS)', require('nodemailer') as typeof esm],
  ['9', require('nodemailer-9') as typeof esm],
] as const)
  describe(`mails of nodemailer ${version}`, () => {
    const tracker = new ContextTracker();
    let undo: (() => void) | null;
    let observation: { close(): void };

    before(() => {
      undo = nodemailerPatch.patch(library);
      observation = observeMail({ tracker, findCaller: createCallerFinder() });
    });
    after(() => {
      observation.close();
      undo?.();
    });

    it('records addresses, subject, text, attachments, transport, outcome and line', async () => {
      const context = newContext();
      const transport = library.createTransport({ jsonTransport: true }, { cc: 'office@example.com' });
      const { attachments } = message;
      await tracker.run(context, () =>
        transport.sendMail({ ...message, attachments: attachments.slice(0, 1) }),
      );
      const [fact] = context.all('mail');
      expect(fact).to.deep.include({
        from: 'Shop <shop@example.com>',
        to: ['Ada <ada@example.com>', 'bob@example.com'],
        cc: ['office@example.com'],
        subject: 'Your order',
        text: 'Thank you',
        html: '<p>Thank you</p>',
        attachments: [{ name: 'invoice.txt', contentType: 'text/plain', bytes: 12 }],
        transport: 'JSONTransport',
        error: null,
      });
      expect(fact?.messageId).to.match(/@example\.com>$/);
      expect(fact?.durationMs).to.be.above(0);
      expect(fact?.caller).to.match(HERE);
    });

    it('records a failure, by callback too, and hands it on', async () => {
      const context = newContext();
      const transport = library.createTransport({ jsonTransport: true });
      const error = await tracker.run(
        context,
        () => new Promise<Error | null>((done) => transport.sendMail(message, (failed) => done(failed))),
      );
      expect(error?.message).to.match(/no such file/i);
      expect(context.all('mail')).to.have.length(1);
      expect(context.first('mail')?.error).to.match(/ENOENT/);
      expect(context.first('mail')?.attachments[1]).to.include({ name: 'terms.pdf', bytes: null });
      expect(context.first('mail')?.caller).to.match(HERE);
    });

    it('keeps requests that run at once apart', async () => {
      const contexts = Array.from({ length: 30 }, (_, id) => newContext(id));
      const transport = library.createTransport({ jsonTransport: true });
      const { from, to } = message;
      await Promise.all(
        contexts.map((context, id) =>
          tracker.run(context, () => transport.sendMail({ from, to, subject: `mail ${id}` })),
        ),
      );
      contexts.forEach((context, id) => {
        expect(context.all('mail').map(({ subject }) => subject)).to.deep.equal([`mail ${id}`]);
      });
    });
  });
