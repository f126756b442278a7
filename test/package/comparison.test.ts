/** docs/comparison.md claims what tests hold: each test that it names exists, under the title it gives. */
import { expect } from 'chai';
import { existsSync, readFileSync } from 'node:fs';

interface Claim {
  line: string;
  file: string;
  title: string;
}

const ROW = /^\| .+ \| .+ \| (?:`(?<file>test\/[^`]+)`: (?<title>.+?))? *\|$/;

/** Rows of the tables, without their heads. */
function claimsIn(text: string): Claim[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| *(?:Symfony 5\.4 +\||---)/.test(line))
    .map((line) => {
      const { file = '', title = '' } = ROW.exec(line)?.groups ?? {};
      return { line, file, title };
    });
}

/** As it stands in the source: escapes of quotes are part of it. */
function hasTitle(source: string, title: string): boolean {
  const starts = [`'${title.replaceAll("'", "\\'")}`, `"${title}`, `\`${title}`];
  return starts.some((start) => source.includes(`it(${start}`));
}

describe('the comparison with Symfony', () => {
  const claims = claimsIn(readFileSync('docs/comparison.md', 'utf8'));

  it('names a test for each claim', () => {
    expect(claims.length).to.be.greaterThan(40);
    for (const { line, file } of claims) expect(file, line).to.not.equal('');
  });

  it('names tests that exist, by titles that they have', () => {
    for (const { file, title } of claims) {
      expect(existsSync(file), file).to.equal(true);
      expect(hasTitle(readFileSync(file, 'utf8'), title), `${file}: ${title}`).to.equal(true);
    }
  });

  it('takes no other title for one', () => {
    const source = "it('shows each panel', () => {});";
    expect(hasTitle(source, 'shows each panel')).to.equal(true);
    expect(hasTitle(source, 'each panel')).to.equal(false);
  });
});
