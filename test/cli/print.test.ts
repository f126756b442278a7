/** Tables for a terminal: widths and colours. */
import { expect } from 'chai';
import { type ListedProfile, table } from '../../app/cli/print.ts';
import { runCli } from '../support/cli.ts';

const ROW: ListedProfile = {
  token: 'abcdef',
  startedAt: Date.UTC(2026, 10, 25),
  state: 'final',
  method: 'GET',
  url: '/orders',
  status: 500,
  durationMs: 12.34,
  queries: 3,
  error: null,
  marks: [{ label: 'N+1' }],
};
const write = (): void => undefined;

describe('a table of the command line', () => {
  it('is cut to the width of the terminal, where wide characters take two columns', () => {
    const rows = [
      { ...ROW, url: '/日本', error: 'Error: 在庫がありません 📦' },
      { ...ROW, url: '/menu' },
    ];
    const whole = table(rows, { write, colours: false, columns: undefined }).split('\n');
    expect(whole[1]!.indexOf('N+1') + '日本'.length).to.equal(whole[2]!.indexOf('N+1'));
    expect(whole[1]).to.match(/ N\+1: Error: 在庫がありません 📦$/);
    for (const columns of [70, 80, 81, 82]) {
      const [, cut = ''] = table(rows, { write, colours: false, columns }).split('\n');
      const wide = Array.from(cut).filter((character) => /[\u3000-\u9fff📦]/u.test(character)).length;
      expect(Array.from(cut).length + wide, cut).to.be.within(columns - 1, columns);
      expect(cut.isWellFormed?.() ?? true).to.equal(true);
      expect(cut).to.match(/…$/);
    }
  });

  it('has colours only where they are asked for, and they take no width', () => {
    const coloured = table([ROW], { write, colours: true, columns: 60 });
    expect(coloured)
      .to.include('\u001b[31m500\u001b[0m')
      .and.match(/^\u001b\[1mTOKEN/);
    const plain = coloured.replace(/\u001b\[\d+m/g, '');
    expect(plain).to.equal(table([ROW], { write, colours: false, columns: 60 }));
  });

  it('comes with a help that names the default address once', async () => {
    const { stdout } = await runCli(['--help']);
    expect(stdout.match(/http:\/\/127\.0\.0\.1:3000/g)).to.have.lengthOf(1);
  });
});
