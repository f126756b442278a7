import { expect } from 'chai';
import { authorsText, createAuthorsWriter, nameAuthors } from '../../../app/panels/shared/header-authors.ts';
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

describe('the text that tells who set which header', () => {
  it('names Express for what Express sets outside of all layers', () => {
    const text = createAuthorsWriter()(
      told(
        ['X-Powered-By', 'X-A'],
        [
          ['X-Powered-By', 'Express', null],
          ['X-A', '1', null],
        ],
      ),
    );
    const by = nameAuthors(text, ['X-Powered-By', 'X-A'], [])?.sent.map((steps) => authorsText(steps));
    expect(by).to.deep.equal(['Express', 'code outside all middleware']);
  });

  it('is that of this answer, whatever the answer before it told', () => {
    const plain: Write[] = [
      ['X-A', '1', policies],
      ['X-B', '2', handler],
    ];
    const answers: ToldWrites[] = [
      told(['X-A', 'X-B'], plain),
      told(['X-A', 'X-B'], [...plain].reverse()),
      told(['X-A', 'X-B'], plain, [handler, policies]),
      told(['X-A'], [...plain, ['x-b', undefined, policies]]),
      told(['X-A', 'X-B'], [...plain, ['x-b', undefined, policies], ['X-B', '3', handler]]),
      told(['X-A', 'X-B'], [...plain, ['X-B', '2', policies]]),
      told(['X-A', 'X-B'], [...plain, ['X-B', '3', policies]]),
      told(['X-A', 'X-B', 'X-C'], [...plain, ['X-C', '1', null, true]]),
      told(['X-A', 'X-B', 'X-C'], [...plain, ['X-C', '1', handler, true]]),
      told(['X-A', 'X-B', 'X-C'], [...plain, ['X-C', '1', handler]]),
      told(['X-A', 'X-B', 'X-B'], [plain[0] ?? ['', '', null], ['X-B', ['x', 'y'], handler]]),
      told(['X-A', 'X-B'], [plain[0] ?? ['', '', null], ['X-B', '2', null]]),
      told(['X-B', 'X-A'], plain),
    ];
    const write = createAuthorsWriter();
    const texts = answers.map((answer) => createAuthorsWriter()(answer));
    expect(new Set(texts).size, 'different answers tell different stories').to.be.at.least(8);
    for (const [index, answer] of answers.entries()) {
      for (const other of [answer, ...answers]) {
        write(other);
        expect(write(answer)).to.equal(texts[index]);
        expect(write(answer), 'and again').to.equal(texts[index]);
      }
    }
  });
});
