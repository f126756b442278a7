import { expect } from 'chai';
import type { Finding, Severity } from '../../app/profiler/read/finding.ts';
import type { FindingRule } from '../../app/profiler/read/finding-rule.ts';
import type { ProfileHead } from '../../app/profiler/profile.ts';
import { createFindingRunner } from '../../app/profiler/read/run-findings.ts';
import { atOnce, inTurns } from '../../app/profiler/turns.ts';
import { NOTHING_BESIDE } from '../support/beside.ts';

const head = { durationMs: 10 } as ProfileHead;

function finding(sentence: string, severity: Severity = 'warn', costMs = 0): Finding {
  return { label: 'x', severity, sentence, panel: 'database', costMs };
}

function rule(given: Partial<FindingRule>): FindingRule {
  return {
    name: 'some-rule',
    needs: ['request'],
    labels: ['x'],
    why: 'So.',
    fix: 'So.',
    find: () => [],
    ...given,
  };
}

function run(rules: readonly FindingRule[], kept: Record<string, unknown> = { request: {} }) {
  return atOnce(createFindingRunner(rules, () => undefined).find(kept, head, NOTHING_BESIDE));
}

describe('findings of a profile', () => {
  it('stand worst first, of two as bad the dearer, with the name of their rule', () => {
    const { findings } = run([
      rule({ name: 'a', find: () => [finding('info', 'info'), finding('cheap', 'warn', 1)] }),
      rule({ name: 'b', find: () => [finding('dear', 'warn', 9), finding('bad', 'bad')] }),
    ]);
    expect(findings.map(({ sentence }) => sentence)).to.deep.equal(['bad', 'dear', 'cheap', 'info']);
    expect(findings.map(({ rule: name }) => name)).to.deep.equal(['b', 'b', 'a', 'a']);
  });

  it('have the first label and the first panel of their rule where it names no other, and a place where one is known', () => {
    const found = run([
      rule({ labels: ['y', 'z'], find: () => [{ severity: 'bad', sentence: 'a', place: 'a.ts:1' }] }),
      rule({ find: () => [{ severity: 'info', sentence: 'b', label: 'z', panel: 'timeline', place: null }] }),
    ]);
    expect(found.findings).to.deep.equal([
      { label: 'y', panel: 'request', severity: 'bad', sentence: 'a', place: 'a.ts:1', rule: 'some-rule' },
      { label: 'z', panel: 'timeline', severity: 'info', sentence: 'b', rule: 'some-rule' },
    ]);
  });

  it('about work stand at the route if they have no line of their own', () => {
    const at = (place: string | null, panel = 'database') => {
      const found = rule({ find: () => [{ severity: 'info', sentence: 'a', panel, place }] });
      return run([found], { request: {}, routing: { route: { source: 'app.ts:9' } } }).findings[0]?.place;
    };
    expect(at('db.ts:3')).to.equal('db.ts:3');
    expect(at(null)).to.equal('app.ts:9');
    expect(at('../node_modules/knex/lib/client.js:250')).to.equal('app.ts:9');
    expect(at('node_modules/winston/lib/logger.js:4', 'logs')).to.equal(
      'node_modules/winston/lib/logger.js:4',
    );
  });

  it('are one, with its count, if they say the same of the same line', () => {
    const { findings, left } = run([
      rule({
        find: () => ['a', 'a', 'b', 'a'].map((sentence) => ({ severity: 'bad', sentence, place: 'a.ts:1' })),
      }),
      rule({ find: () => ['a.ts:1', 'a.ts:2'].map((place) => ({ severity: 'bad', sentence: 'c', place })) }),
    ]);
    expect(findings.map(({ sentence }) => sentence)).to.deep.equal(['a (3 times)', 'b', 'c', 'c']);
    expect(left).to.equal(0);
  });

  it('are left out if another one explains them: of its line, or of the response', () => {
    const shown = (severity: Severity, place: string, anchor = 'q4'): string[] =>
      run([
        rule({
          name: 'cause',
          explains: ['effect'],
          find: () => [{ severity, sentence: 'cause', place: 'a.ts:1' }],
        }),
        rule({ name: 'effect', find: () => [{ severity: 'warn', sentence: 'effect', place, anchor }] }),
        rule({ name: 'other', find: () => [{ severity: 'info', sentence: 'other', place, anchor }] }),
      ]).findings.map(({ sentence }) => sentence);
    expect(shown('bad', 'a.ts:1')).to.deep.equal(['cause', 'other']);
    expect(shown('bad', 'a.ts:9', 'response')).to.deep.equal(['cause', 'other']);
    expect(shown('bad', 'a.ts:9'), 'another line').to.deep.equal(['cause', 'effect', 'other']);
    expect(shown('info', 'a.ts:1'), 'a note explains no warning').to.have.members([
      'cause',
      'effect',
      'other',
    ]);
  });

  it('can compare a request with what is usual for its route, and with earlier ones', () => {
    const seen: unknown[] = [];
    const compared = rule({
      compares: ({ request }) => (request as { tag?: string }).tag !== undefined,
      find(_kept, _head, { usualMs, earlier }) {
        seen.push(usualMs, earlier.length);
        return [];
      },
    });
    const runner = createFindingRunner([compared], () => undefined);
    const kept = { request: {} };
    atOnce(runner.find(kept, head, { ...NOTHING_BESIDE, usualMs: 7, earlier: [{ head, kept }] }));
    expect(seen).to.deep.equal([7, 1]);
    expect(runner.asks('compares', kept, head)).to.equal(false);
    expect(runner.asks('compares', { request: { tag: 'a' } }, head)).to.equal(true);
    expect(runner.asks('compares', { logs: {} }, head)).to.equal(false);
  });

  it('stand behind what broke the response, and that behind nothing', () => {
    const broke = (sentence: string, what: Finding['broke']): Finding => ({
      ...finding(sentence),
      ...(what === undefined ? {} : { broke: what }),
    });
    const { findings } = run([
      rule({ name: 'a', find: () => [finding('blocked', 'bad', 400), broke('swallowed', 'unseen')] }),
      rule({ name: 'b', find: () => [broke('failed', 'response'), finding('slow', 'warn', 90)] }),
    ]);
    expect(findings.map(({ sentence }) => sentence)).to.deep.equal([
      'failed',
      'swallowed',
      'blocked',
      'slow',
    ]);
  });

  it('keep their cost to the microsecond', () => {
    const { findings } = run([rule({ find: () => [finding('slow', 'warn', 12.3456789), { ...finding('plain'), costMs: 0 }] })]); // prettier-ignore
    expect(findings.map(({ costMs }) => costMs)).to.deep.equal([12.346, 0]);
  });

  it('come from rules whose panels all kept something', () => {
    const asked: string[] = [];
    const find = (name: string) => (): Finding[] => {
      asked.push(name);
      return [];
    };
    run(
      [
        rule({ needs: ['database'], find: find('one') }),
        rule({ needs: ['database', 'logs'], find: find('both') }),
        rule({ needs: ['logs'], find: find('none') }),
      ],
      { database: {} },
    );
    expect(asked).to.deep.equal(['one']);
  });

  it('are three of a rule and twelve in all at most; the rest is counted', () => {
    const many = Array.from({ length: 5 }, (_, index) => finding(String(index), 'warn', -index));
    const { findings, left } = run(['a', 'b', 'c', 'd', 'e'].map((name) => rule({ name, find: () => many })));
    expect(findings).to.have.length(12);
    expect(left).to.equal(13);
    expect(run([rule({ find: () => many })]).findings.map(({ sentence }) => sentence)).to.deep.equal(['0', '1', '2']); // prettier-ignore
  });

  it('are found in turns: what waits for the process comes between two rules', async () => {
    let others = 0;
    const slow = rule({
      find() {
        const seen = others;
        setImmediate(() => others++);
        for (const end = performance.now() + 6; performance.now() < end;);
        return [finding(String(seen))];
      },
    });
    const runner = createFindingRunner([slow, slow], () => undefined);
    const { findings } = await inTurns(runner.find({ request: {} }, head, NOTHING_BESIDE));
    expect(findings.map(({ sentence }) => sentence)).to.deep.equal(['0', '1']);
  });

  it('outlive a rule that throws, which is said once', () => {
    const warnings: string[] = [];
    const fails = (): never => {
      throw new Error('no');
    };
    const failing = rule({ name: 'fails', find: fails, compares: fails });
    const runner = createFindingRunner([failing, rule({ find: () => [finding('still')] })], (sentence) =>
      warnings.push(sentence),
    );
    expect(runner.asks('compares', { request: {} }, head)).to.equal(false);
    expect(atOnce(runner.find({ request: {} }, head, NOTHING_BESIDE)).findings).to.have.length(1);
    expect(warnings).to.deep.equal(['The rule fails failed and finds nothing: no']);
  });
});
