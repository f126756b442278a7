import { expect } from 'chai';
import { processesPanel } from '../../app/panels/processes/index.ts';
import { Context } from '../../app/profiler/record/context.ts';
import { childProcess } from '../support/observed-samples.ts';
import { dataOf, panelPage, summaryOf } from '../support/panel-data.ts';

describe('the panel of child processes', () => {
  it('shows how each ended and which blocked the event loop, with secrets masked by their option', () => {
    const context = new Context({ token: '000001', kind: 'request' });
    context.add('process', childProcess({ isSync: true }));
    context.add('process', childProcess({ exitCode: 1, args: [{ name: null, value: '--password' }, { name: '--password', value: 'hunter22' }] })); // prettier-ignore
    context.add('process', childProcess({ durationMs: null, exitCode: null }));
    expect(summaryOf(processesPanel, dataOf(processesPanel, context)!)).to.deep.equal({
      text: '3',
      tone: 'bad',
      count: 3,
    });
    const $ = panelPage(processesPanel, context);
    expect($('#p1').text())
      .to.contain('convert')
      .and.contain('blocks the event loop')
      .and.contain('exit code 0');
    expect($('#p2').text())
      .to.contain('exit code 1')
      .and.contain('[masked 1, string]')
      .and.not.contain('hunter22');
    expect($('#p3').text()).to.contain('running');
  });
});
