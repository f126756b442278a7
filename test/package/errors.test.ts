/** docs/service/errors.md lists the catalogue of app/errors.ts, each code once and with its status. */
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { codeOf, isError, listErrorCodes, messageOf } from '../../app/errors.ts';

describe('docs/service/errors.md', () => {
  const rows = readFileSync('docs/service/errors.md', 'utf8').matchAll(/^\| `([A-Z_]+)` +\| (\d{3}) +\|/gm);
  const documented = Array.from(rows, ([, code, status]) => ({ code, status: Number(status) }));

  it('lists every error of the catalogue with its status, and no other', () => {
    const byCode = (a: { code?: string }, b: { code?: string }): number =>
      (a.code ?? '').localeCompare(b.code ?? '');
    expect(documented).to.not.be.empty;
    expect([...documented].sort(byCode)).to.deep.equal([...listErrorCodes()].sort(byCode));
  });
});

describe('an error of Node.js under Jest, which runs this code in another realm', () => {
  it('has its code and message', () => {
    const error: unknown = runInNewContext('Object.assign(new Error("gone"), { code: "ENOENT" })');
    expect([error instanceof Error, isError(error), codeOf(error), messageOf(error)]).to.deep.equal([
      false,
      true,
      'ENOENT',
      'gone',
    ]);
  });
});
