import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { ownModules } from '../../app/observe/es-modules.ts';
import { createMethodPlaces } from '../../app/observe/stacks/class-places.ts';
import { freshFolder } from '../support/fresh-folder.ts';

describe('methods of classes', () => {
  const folder = freshFolder();
  const find = createMethodPlaces(([site]) => `${site?.getLineNumber()}:${site?.getColumnNumber()}`);

  function load(name: string, text: string): void {
    writeFileSync(join(folder, name), text);
    ownModules().add(join(folder, name));
  }

  it('are found in the text of loaded modules, also of those that come later', () => {
    load(
      'cellars.ts',
      `/** The class Cheese is kept here. */
export abstract class Cellars {
  private async worth<T>(id: T) {}
}
let Cheese = class Cheese extends Cellars {
  @Get(':id') @UseGuards(Door) find(id) {}
  finder() {}
};`,
    );
    expect(find('Cheese.find')).to.equal('6:32');
    expect(find('Cheese.worth')).to.equal('3:17');
    expect(find('Cheese.missing')).to.equal(null);
    expect(find('Cellars.find')).to.equal(null);
    expect(find('Late.use')).to.equal(null);
    load('late.js', 'class Later { }\nclass Late2 {\n  use() {}\n}');
    expect(find('Late2.use')).to.equal('3:3');
  });

  it('are not found if several classes of that name have them', () => {
    load('a.js', 'class Twice {\n  use() {}\n  one() {}\n}');
    load('b.js', 'class Twice {\n  use() {}\n}');
    load('c.json', 'class Thrice {\n  use() {}\n}');
    expect(find('Twice.use')).to.equal(null);
    expect(find('Twice.one')).to.equal('3:3');
    expect(find('Thrice.use')).to.equal(null);
  });
});
