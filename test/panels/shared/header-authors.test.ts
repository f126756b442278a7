import { expect } from 'chai';
import { authorsText, headerAuthors, nameAuthors } from '../../../app/panels/shared/header-authors.ts';
import type { ToldWrites } from '../../../app/panels/shared/header-authors.ts';

const [policies, handler] = [{ name: 'policies' }, { name: 'handler' }];

type Write = [name: string, value: unknown, layer: object | null, hooked?: boolean];

function told(sent: string[], writes: Write[], layers = [policies, handler]): ToldWrites {
  return {
    layers,
    rawHeaders: sent.flatMap((name) => [name, 'x']),
    headerWrites: writes.map(([name, value, layer, hooked = false]) => ({ name, value, layer, hooked })),
  };
}

describe('who set which header', () => {
  it('names Express for what Express sets outside of all layers', () => {
    const authors = headerAuthors(
      told(
        ['X-Powered-By', 'X-A'],
        [
          ['X-Powered-By', 'Express', null],
          ['X-A', '1', null],
        ],
      ),
    );
    const by = nameAuthors(authors, ['X-Powered-By', 'X-A'], [])?.sent.map((steps) => authorsText(steps));
    expect(by).to.deep.equal(['Express', 'code outside all middleware']);
  });

  it('tells what each layer did with a header, and which are not sent', () => {
    const plain: Write[] = [
      ['X-A', '1', policies],
      ['X-B', '2', handler],
    ];
    const said = (sent: string[], writes: Write[]) => headerAuthors(told(sent, writes));
    const [setA, setB] = [
      { verb: 'set', layer: 0 },
      { verb: 'set', layer: 1 },
    ];
    expect(said(['X-A', 'X-B'], plain)).to.deep.equal({ sent: [[setA], [setB]], removed: [] });
    expect(said(['X-B', 'X-A'], plain)?.sent).to.deep.equal([[setB], [setA]]);
    expect(said(['X-A'], [...plain, ['x-b', undefined, policies]])).to.deep.equal({
      sent: [[setA]],
      removed: [{ name: 'X-B', steps: [setB, { verb: 'removed', layer: 0 }] }],
    });
    expect(
      said(['X-B'], [...plain, ['x-b', undefined, policies], ['X-B', '3', handler]])?.sent,
    ).to.deep.equal([[setB, { verb: 'removed', layer: 0 }, setB]]);
    expect(said(['X-B'], [...plain, ['X-B', '2', policies]])?.sent, 'the same value').to.deep.equal([[setB]]);
    expect(said(['X-B'], [...plain, ['X-B', '3', policies]])?.sent).to.deep.equal([
      [setB, { verb: 'changed', layer: 0 }],
    ]);
    expect(said(['X-B'], [...plain, ['X-B', '3', handler]])?.sent, 'its own value').to.deep.equal([[setB]]);
    expect(said(['X-C'], [...plain, ['X-C', '1', handler, true]])?.sent).to.deep.equal([
      [{ verb: 'set', layer: 1, hooked: true }],
    ]);
    expect(said(['X-C', 'X-D'], [...plain, ['X-C', '1', null]])?.sent).to.deep.equal([
      [{ verb: 'set', layer: null }],
      [],
    ]);
    expect(said(['X-B', 'X-B'], [['X-B', ['x', 'y'], handler]])?.sent).to.deep.equal([[setB], [setB]]);
  });
});
