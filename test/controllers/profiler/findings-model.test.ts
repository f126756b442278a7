import { expect } from 'chai';
import { load } from 'cheerio';
import express from 'express';
import { createFindingsModel } from '../../../app/controllers/profiler/findings-model.ts';
import type { Finding, FindingRule, Profile } from '../../../app/index.ts';
import type { RuleTexts } from '../../../app/profiler/read/finding-rule.ts';
import { startFindingsApp, type FindingsApp } from '../../support/findings-app.ts';
import { until } from '../../support/waiting.ts';

function findings(count: number, given: Partial<Finding> = {}): Finding[] {
  return Array.from({ length: count }, (_, index) => ({
    label: 'slow', severity: 'warn', sentence: `Number ${index} is slow`, panel: 'request', ...given,
  })); // prettier-ignore
}

function modelOf(of: Finding[], texts: RuleTexts = {}, amendments: Record<string, unknown> = {}) {
  return createFindingsModel({ findings: of } as Profile, texts, amendments);
}

describe('the findings at the head of a profile', () => {
  it('are five and a fold, where the fold hides more than one', () => {
    const sizes = (count: number): number[] => {
      const { shown, folded } = modelOf(findings(count));
      return [shown.length, folded.length];
    };
    expect([0, 5, 6, 7, 12].map(sizes)).to.deep.equal([[0, 0], [5, 0], [6, 0], [5, 2], [5, 7]]); // prettier-ignore
  });

  it('explain each rule once, and none that is not known any more', () => {
    const { rules } = modelOf(
      [
        ...findings(2, { rule: 'slow-thing' }),
        ...findings(1, { rule: 'slow-thing', label: 'slower' }),
        ...findings(1, { rule: 'constructor' }),
        ...findings(1),
      ],
      { 'slow-thing': { why: 'By its time.', fix: 'Less of it.' } },
    );
    expect(rules).to.deep.equal([{ labels: ['slow', 'slower'], why: 'By its time.', fix: 'Less of it.' }]);
  });

  it('say what came later, where their rule knows how, and outlive one that fails', () => {
    const texts: RuleTexts = {
      late: {
        why: 'So.',
        fix: 'So.',
        amend: (finding, _profile, { plan }) => ({
          ...finding,
          sentence: `${finding.sentence}; ${String(plan)}`,
        }),
      },
      broken: {
        why: 'So.',
        fix: 'So.',
        amend: () => {
          throw new Error('no');
        },
      },
    };
    const of = [...findings(1, { rule: 'late' }), ...findings(1, { rule: 'broken' })];
    expect(modelOf(of, texts, { plan: 'a scan' }).shown.map(({ sentence }) => sentence)).to.deep.equal([
      'Number 0 is slow; a scan',
      'Number 0 is slow',
    ]);
  });

  describe('on the page', () => {
    const rule: FindingRule = {
      name: 'many-things',
      needs: ['request'],
      labels: ['slow'],
      why: 'Each thing was counted as it came.',
      fix: 'Ask for `fewer <i>` at once.',
      find: (_kept, { url }) =>
        url === '/plain'
          ? []
          : findings(3, { rule: 'x', place: 'src/a.ts:1' }).map((one, at) => ({
              ...one,
              sentence: `<b>${at}</b> are slow`,
            })),
    };
    let running: FindingsApp;
    before(async () => {
      const others = [1, 2].map((number): FindingRule => ({ ...rule, name: `many-others-${number}` }));
      const loud: FindingRule = {
        ...rule,
        name: 'loud',
        find: (_kept, { url }) => (url === '/plain' ? [] : findings(5, { panel: 'logs' })),
      };
      running = await startFindingsApp(
        (app) => {
          app.get('/many', (_req, res) => void res.send('many'));
          app.get('/plain', (_req, res) => void res.send('plain'));
          app.use(express.json());
        },
        { findings: [rule, ...others, loud] },
      );
    });
    after(() => running.close());

    async function page(path: string) {
      let profile: Profile | undefined;
      // A busy machine blocks the event loop, too.
      await until(async () => {
        ({ profile } = await running.ask(path));
        return profile.findings.every(({ rule: found }) => found !== 'event-loop-blocked');
      }, 'nothing blocked the event loop');
      const answer = await fetch(`${running.origin}/_profiler/${profile?.token}?panel=request`);
      return load(await answer.text());
    }

    it('stand in one line, without those that the panel shows, linked to their proof and explained on the overview', async () => {
      const $ = await page('/many');
      const line = $('p.found');
      expect(line.children('a').attr('href')).to.match(/\?panel=overview#wrong$/);
      expect(line.children('a').text()).to.equal('14 findings');
      const linked = line.find('span > a').toArray().map((link) => $(link).attr('href')); // prettier-ignore
      expect(linked).to.have.length(3);
      for (const href of linked) expect(href).to.match(/\/_profiler\/[0-9a-f]{6}\?panel=logs$/);
    });

    it('are not there where nothing was found', async () => {
      const $ = await page('/plain');
      expect($('p.found')).to.have.length(0);
    });
  });
});
