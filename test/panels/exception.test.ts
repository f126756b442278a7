import { load } from 'cheerio';
import { expect } from 'chai';
import type { ExceptionData } from '../../app/panels/exception/data.ts';
import { createExceptionPanel } from '../../app/panels/exception/index.ts';
import { packageRoot } from '../../app/paths.ts';
import { Context } from '../../app/profiler/record/context.ts';
import type { ErrorFact } from '../../app/profiler/record/facts.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { describerOf, rendererOf, snapshotOf } from '../support/error-page.ts';
import { panelHtml, summaryOf } from '../support/panel-data.ts';

const describeThrown = describerOf(packageRoot());
const panel = createExceptionPanel({ describe: describeThrown });

function contextWith(...errors: Partial<ErrorFact>[]): Context {
  const context = new Context({ token: 'abc123', kind: 'request' });
  for (const fact of errors)
    context.add('error', { error: new Error('m'), origin: 'handled', atMs: 1, status: 500, ...fact });
  return context;
}

function collect(context: Context): ExceptionData {
  const data = panel.collect?.(context) ?? null;
  if (data === null) throw new Error('nothing was collected');
  return data;
}

describe('the exception panel', () => {
  it('keeps what was thrown with its origin, time and place', () => {
    const [record] = collect(
      contextWith({ error: new TypeError('no', { cause: new Error('root') }), atMs: 12 }),
    ).errors;
    expect(record).to.include({ origin: 'handled', atMs: 12, status: 500, late: false });
    expect(record?.place?.link).to.equal(1);
    expect(record?.place?.frame.file).to.equal('test/panels/exception.test.ts');
    expect(record?.thrown.chain.map(({ message }) => message)).to.deep.equal(['no', 'root']);
  });

  it('describes each error once, however often it is collected', () => {
    let calls = 0;
    const counting = createExceptionPanel({
      describe: (value) => {
        calls++;
        return describeThrown(value);
      },
    });
    const context = contextWith({ error: 'thrown twice' }, { error: 'thrown twice' });
    counting.collect?.(context);
    counting.collect?.(context);
    expect(calls).to.equal(2);
  });

  it('repeats the last lines of the log, where there is one', () => {
    const context = contextWith({});
    for (let index = 0; index < 25; index++)
      context.add('log', {
        level: 'info',
        channel: 'checkout',
        message: `line ${index}`,
        context: null,
        caller: null,
        atMs: index,
      });
    const data = collect(context);
    expect(data.logs).to.have.length(20);
    expect(data.logsDropped).to.equal(5);
    expect(data.logs.at(-1)).to.deep.equal({
      atMs: 24,
      level: 'info',
      channel: 'checkout',
      message: 'line 24',
    });
  });

  it('takes the place of an error that has none in own code from those it holds', async () => {
    const failed = async (): Promise<never> => {
      await Promise.resolve();
      throw new RangeError('one of two');
    };
    const error: unknown = await Promise.any([Promise.reject(new Error('x', {})), failed()]).catch(
      (cause: unknown) => cause,
    );
    (error as { errors: Error[] }).errors[0]!.stack = 'Error: x';
    const [record] = collect(contextWith({ error })).errors;
    expect(record?.place).to.include({ link: 0, member: 1 });
    expect(record?.place?.frame.file).to.equal('test/panels/exception.test.ts');
    const profile = snapshotOf({ error });
    const $ = load(panelHtml(rendererOf(), panel, { profile }));
    expect($('#error-1-where th').text()).to.equal('Where error 2 in it began');
    expect($('#error-1-source .hot').text()).to.include("new RangeError('one of two')");
  });

  it('bounds the errors of one request', () => {
    const data = collect(contextWith(...Array.from({ length: 40 }, () => ({ error: 'x' }))));
    expect(data.errors.length + data.errorsDropped).to.equal(40);
    expect(data.errors).to.have.length(10);
  });

  it('sums up how many errors, and how bad', () => {
    const summary = (context: Context) => summaryOf(panel, collect(context));
    expect(summary(contextWith({ error: new Error('a', { cause: 'b' }) }))).to.deep.equal({
      text: '2',
      tone: 'bad',
      count: 2,
    });
    expect(summary(contextWith({ status: 404 }))?.tone).to.equal('warn');
  });
});

describe('the view of the exception panel', () => {
  const renderPage = rendererOf();

  function view(data: ExceptionData | null, profile: Partial<Profile> = {}) {
    const recorded = { exception: { data, summary: null, error: null } };
    return load(
      panelHtml(renderPage, panel, {
        profile: { dropped: {}, summary: null, ...profile, panels: recorded } as Profile,
      }),
    );
  }

  it('shows message, place, excerpt, causes and frames', () => {
    const profile = snapshotOf({ error: new TypeError('outer', { cause: new Error('inner') }) });
    const $ = view(profile.panels.exception?.data as ExceptionData, profile);
    expect($('h2.msg').text()).to.equal('outer');
    expect($('#error-1-where a').first().text()).to.match(/^test\/panels\/exception\.test\.ts:\d+$/);
    expect($('#error-1-link-2 .hot').text()).to.include("new Error('inner')");
    expect($('#error-1-link-2 .hot u').text()).to.equal('new Error');
    expect($('.chain li').length).to.equal(2);
    expect($('.chain .root p').text()).to.equal('Error: inner');
    expect($('.frames').length).to.equal(2);
    expect($('#error-1-trace pre').text()).to.include('[cause]: Error: inner');
    expect(
      $('.first .err h3')
        .toArray()
        .map((title) => $(title).text()),
    ).to.deep.equal(['Origin Error: inner', 'Thrown TypeError: outer']);
  });
});
