import { expect } from 'chai';
import { jobsPanel } from '../../app/panels/jobs/index.ts';
import { showPanel } from '../../app/testing.ts';
import { Context } from '../../app/profiler/record/context.ts';
import { job } from '../support/observed-samples.ts';
import { dataOf, panelPage, summaryOf } from '../support/panel-data.ts';

describe('the panel of jobs', () => {
  it('shows what a request added', () => {
    const context = new Context({ token: '000001', kind: 'request' });
    context.add('job', job({ delayMs: 5000 }));
    context.add('job', job({ id: null, error: 'Error: Connection is closed.' }));
    expect(summaryOf(jobsPanel, dataOf(jobsPanel, context)!)).to.deep.equal({
      text: '2',
      tone: 'bad',
      count: 2,
    });
    const $ = panelPage(jobsPanel, context);
    expect($('#j1').text()).to.contain('confirm').and.contain('mails').and.contain('5.00 s');
    expect($('#j2').text()).to.contain('Connection is closed.');
  });

  it('counts the time of jobs that were added in parallel once', () => {
    const { rows } = showPanel(jobsPanel, (context) => {
      context.add('job', job({ startMs: 5, durationMs: 4 }));
      context.add('job', job({ startMs: 6, durationMs: 4 }));
    });
    expect(rows?.figures?.find(({ label }) => label === 'Time adding jobs')?.value).to.equal(5);
  });

  it('shows the job that a profile is about', () => {
    const context = new Context({ token: '000002', kind: 'job' });
    context.add('jobRun', {
      queue: 'mails', name: 'confirm', id: '7', data: { order: 7 }, attempt: 2, attempts: 3, waitedMs: 12, result: null, outcome: 'failed',
    }); // prettier-ignore
    expect(summaryOf(jobsPanel, dataOf(jobsPanel, context)!)).to.deep.equal({
      text: 'failed',
      tone: 'bad',
      count: 0,
    });
    expect(panelPage(jobsPanel, context)('#job').text())
      .to.contain('2 of 3')
      .and.contain('failed')
      .and.contain('confirm');
  });
});
