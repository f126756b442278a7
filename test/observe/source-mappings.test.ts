/** Against Node's own reader, on the map of a real build and on one that is put together at random. */
import { expect } from 'chai';
import { SourceMap } from 'node:module';
import { transformSync } from 'esbuild';
import { readMappings } from '../../app/observe/stacks/source-mappings.ts';

const TYPED = `
interface Row { id: number; name: string }
export function first(rows: Row[]): Row | undefined {
  const found = rows.find(({ id, name }: Row): boolean => id > 0 && name !== '');

  return found as Row | undefined;
}
export class Ledger<Entry extends Row> {
  readonly #entries: Entry[] = [];
  add(entry: Entry): this { this.#entries.push(entry); return this; }
}
`;

function payloadOf(minifyWhitespace: boolean) {
  const { map } = transformSync(TYPED, { loader: 'ts', sourcemap: true, minifyWhitespace });
  return JSON.parse(map) as ConstructorParameters<typeof SourceMap>[0];
}

function expectSame(payload: ReturnType<typeof payloadOf>, lines: number, columns: number): void {
  const node = new SourceMap(payload);
  const find = readMappings(payload.mappings);
  let found = 0;
  // From the end too: what was walked over before is no condition.
  for (const line of [lines - 1, ...Array.from({ length: lines }, (_, number) => number)]) {
    for (let column = 0; column < columns; column++) {
      const entry = node.findEntry(line, column);
      const same =
        'generatedLine' in entry && entry.generatedLine === line && typeof entry.originalSource === 'string'
          ? { source: payload.sources.indexOf(entry.originalSource), line: entry.originalLine, column: entry.originalColumn } // prettier-ignore
          : null;
      expect(find(line, column), `${line}:${column}`).to.deep.equal(same);
      if (same !== null) found++;
    }
  }
  expect(found).to.be.above(0);
}

describe('source mappings', () => {
  it('finds what stands at each place of a compiled file', () => {
    expectSame(payloadOf(false), 24, 90);
  });

  it('finds it in one long line', () => {
    expectSame(payloadOf(true), 3, 400);
  });

  it('goes back to earlier sources, and has none for a segment that names none', () => {
    const mappings = 'AAAA,IAAIC,MCEN;;ACPA,KDQDD,Q,IAAI;gBACkB';
    expectSame({ ...payloadOf(false), sources: ['a.ts', 'b.ts', 'c.ts'], mappings }, 5, 40);
  });

  it('finds nothing behind the last line, or before the first segment of one', () => {
    const find = readMappings('AAAA;IAAI');
    expect(find(7, 0)).to.equal(null);
    expect(find(1, 3)).to.equal(null);
    expect(find(1, 4)).to.deep.equal({ source: 0, line: 0, column: 4 });
  });
});
