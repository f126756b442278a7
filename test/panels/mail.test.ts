import { expect } from 'chai';
import { mailPanel } from '../../app/panels/mail/index.ts';
import { Context } from '../../app/profiler/record/context.ts';
import { mail } from '../support/observed-samples.ts';
import { dataOf, panelPage, summaryOf } from '../support/panel-data.ts';

describe('the panel of mails', () => {
  const context = new Context({ token: '000001', kind: 'request' });
  context.add('mail', mail({ html: '<b>Thank you</b>', attachments: [{ name: 'a.pdf', contentType: null, bytes: 2048 }], cc: ['bob@example.com'] })); // prettier-ignore
  context.add(
    'mail',
    mail({ subject: '', error: 'Error: connect ECONNREFUSED', messageId: null, response: null }),
  );

  it('says that one failed', () => {
    expect(summaryOf(mailPanel, dataOf(mailPanel, context)!)).to.deep.equal({
      text: '2',
      tone: 'bad',
      count: 2,
    });
  });

  it('shows each mail with its parts as text, and links to its HTML', () => {
    const $ = panelPage(mailPanel, context);
    expect($('#m1-html a[href$="/mail/m1"]').text()).to.equal('Open as a page');
    expect($('#m1').text()).to.contain('Your order').and.contain('ada@example.com');
    expect($('#m1').text(), 'in its row').to.contain('bob@example.com').and.contain('a.pdf (2');
    expect($.text()).to.contain('<b>Thank you</b>').and.contain('a.pdf (2').and.contain('250 OK');
    expect($('#m2').text()).to.contain('(no subject)').and.contain('failed').and.contain('ECONNREFUSED');
  });
});
