/** Holds each row of the tables in SECURITY.md: what is masked, and what is not. */
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../app/paths.ts';
import { createRedactor } from '../../app/profiler/redact.ts';
import { examplesOf } from '../support/security-table.ts';

const redactor = createRedactor();
const security = readFileSync(join(packageRoot(), 'SECURITY.md'), 'utf8');

/** As it may stand in a profile: alone, in a line, and as the value that JSON makes of it. */
function shownOf(text: string): string[] {
  const shown = [redactor.text(text), redactor.text(`before ${text} after`)];
  const field = /^([A-Za-z-]+): (.*)$/.exec(text);
  if (field !== null)
    shown.push(JSON.stringify(redactor.tree({ headers: [{ name: field[1], value: field[2] }] }).value));
  try {
    shown.push(JSON.stringify(redactor.tree({ body: JSON.parse(text) as unknown, text }).value));
  } catch {
    // No JSON.
  }
  return shown;
}

describe('what SECURITY.md says of masking', () => {
  const promised = examplesOf(security, 'What is masked', 'Kind');
  const others = examplesOf(security, 'What is masked', 'Not masked');

  it('is read from its tables', () => {
    expect(promised.length).to.be.greaterThan(120);
    expect(others.length).to.be.greaterThan(10);
  });

  for (const { kind, example, text, secrets } of promised) {
    it(`masks ${kind}: ${example}`, () => {
      for (const shown of shownOf(text)) for (const secret of secrets) expect(shown).to.not.contain(secret);
    });
  }

  for (const { kind, example, text } of others) {
    it(`does not mask ${kind}: ${example}`, () => {
      expect(redactor.text(text)).to.equal(text);
    });
  }
});
