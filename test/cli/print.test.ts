/** Tables for a terminal: widths and colours. */
import { expect } from 'chai';
import { type ListedProfile, table } from '../../app/cli/print.ts';

const ROW: ListedProfile = {
  token: 'abcdef',
  startedAt: Date.UTC(2026, 10, 25, 1),
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
  it('fits the terminal, where wide characters take two columns', () => {
    const rows = [
      { ...ROW, url: '/日本', error: 'Error: 在庫がありません 📦' },
      { ...ROW, url: '/menu' },
    ];
    const whole = table(rows, { write, colours: false, columns: undefined }).split('\n');
    expect(whole[1]!.indexOf('N+1') + '日本'.length).to.equal(whole[2]!.indexOf('N+1'));
    expect(whole[1]).to.match(/ N\+1 · Error: 在庫がありません 📦$/);
    for (const columns of [58, 59, 60, 61]) {
      const [, cut = ''] = table(rows, { write, colours: false, columns }).split('\n');
      const wide = Array.from(cut).filter((character) => /[\u3000-\u9fff📦]/u.test(character)).length;
      expect(Array.from(cut).length + wide, cut).to.be.within(columns - 1, columns);
      expect(cut.isWellFormed?.() ?? true).to.equal(true);
      expect(cut).to.match(/…$/);
    }
  });

  it('shows findings and the end of the URL in a narrow terminal, and leaves out other columns', () => {
    const row = { ...ROW, startedAt: Date.now(), url: '/api/v2/customers/1234/invoices/1' };
    for (const [columns, left] of [
      [60, ['QUERIES', 'AT', 'METHOD']],
      [80, ['QUERIES']],
      [120, []],
    ] as const) {
      const [head = '', line = ''] = table([row], { write, colours: false, columns }).split('\n');
      expect(line.length, line).to.be.at.most(columns);
      expect(line).to.match(/\/invoices\/1 +N\+1$/);
      const missing = ['QUERIES', 'AT', 'METHOD'].filter((name) => !head.split(/ +/).includes(name));
      expect(missing, head).to.deep.equal(left);
    }
  });

  it('has local time, with the day if that is not today', () => {
    const at = new Date();
    const time = [at.getHours(), at.getMinutes(), at.getSeconds()]
      .map((part) => String(part).padStart(2, '0'))
      .join(':');
    const screen = { write, colours: false, columns: undefined };
    expect(table([{ ...ROW, startedAt: at.getTime() }], screen)).to.include(` ${time} `);
    expect(table([ROW], screen)).to.match(/ 2026-11-2[45] \d\d:\d\d /);
  });

  it('has colours only where they are asked for, and they take no width', () => {
    const coloured = table([ROW], { write, colours: true, columns: 60 });
    expect(coloured)
      .to.include('\u001b[31m500\u001b[39m')
      .and.match(/^\u001b\[1mTOKEN/);
    const plain = coloured.replace(/\u001b\[\d+m/g, '');
    expect(plain).to.equal(table([ROW], { write, colours: false, columns: 60 }));
  });
});
