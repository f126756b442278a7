import { expect } from 'chai';
import { rmSync, writeFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createPageRenderer, ViewError } from '../../app/render/render-page.ts';
import { freshFolder } from '../support/fresh-folder.ts';

describe('renderPage', () => {
  let folder: string;
  const assets = { url: (file: string) => `/assets/${file}` };

  beforeEach(() => {
    folder = freshFolder();
    mkdirSync(join(folder, 'partials'));
  });

  const write = (name: string, text: string): void => writeFileSync(join(folder, `${name}.ejs`), text);

  it('escapes values and gives included templates only what they are given', () => {
    write('page', `<%= a %>|<%- include('partials/x', { b: a }) %>`);
    write('partials/x', `<%= typeof a %> <%= locals.a %> <%= b %>`);
    const render = createPageRenderer({ viewsFolder: folder, assets });
    expect(render('page', { a: '<i>' })).to.equal('&lt;i&gt;|undefined  &lt;i&gt;');
  });

  it('takes out what the layout of a template adds: breaks vanish beside tags and are one space between words', () => {
    write('page', '<ul>\n  <% for (const n of [1, 2]) { %>\n    <li>\n      <%= n %>\n    </li>\n  <% } %>\n</ul>\n');
    write('text', '<p>one\n   two  three <b>four</b>\n  <i>five</i>\n  <%= 6 %>\n  seven</p>');
    const render = createPageRenderer({ viewsFolder: folder, assets });
    expect(render('page', {})).to.equal('<ul><li>1</li><li>2</li></ul>');
    expect(render('text', {})).to.equal('<p>one two  three <b>four</b><i>five</i>6seven</p>');
  });

  it('compiles a template once', () => {
    write('page', 'one');
    const render = createPageRenderer({ viewsFolder: folder, assets });
    expect(render('page', {})).to.equal('one');
    write('page', 'two');
    expect(render('page', {})).to.equal('one');
  });

  it('renders the templates that were there when it was created', () => {
    write('page', `<%- include('partials/x', {}) %> <%= hasView('partials/x') %> <%= hasView('partials/y') %>`);
    write('partials/x', 'here');
    const render = createPageRenderer({ viewsFolder: folder, assets });
    rmSync(join(folder, 'page.ejs'));
    rmSync(join(folder, 'partials'), { recursive: true });
    expect(render('page', {})).to.equal('here true false');
  });

  it('names the view that failed', () => {
    write('page', `<%- include('partials/x', {}) %>`);
    write('partials/x', '<%= missing %>');
    const render = createPageRenderer({ viewsFolder: folder, assets });
    expect(() => render('page', {})).to.throw(ViewError, 'The view "partials/x" failed: missing is not defined');
  });

  it('lets others run between parts that are left for later, and shows one that fails in its place', async () => {
    write('page', `<ul><% for (const n of [1, 2, 3]) { %><%- later('partials/row', { n }) %><% } %></ul>`);
    write('partials/row', `<li><%- later('partials/x', { n }) %></li>`);
    write('partials/x', `<% if (n === 2) throw new Error('<b>'); const end = Date.now() + 6; while (Date.now() < end); %><%= n %>`);
    const render = createPageRenderer({ viewsFolder: folder, assets });
    const html = '<ul><li>1</li><li><p class="bad">The view &quot;partials/x&quot; failed: &lt;b&gt;</p></li><li>3</li></ul>';
    expect(render('page', {})).to.equal(html);
    let turns = 0;
    let timer = setImmediate(function count() {
      turns++;
      timer = setImmediate(count);
    });
    const made = await render.inTurns('page', {}, (piece) => piece.replaceAll('<li>', '<li id="">'));
    clearImmediate(timer);
    expect(made.toString()).to.equal(html.replaceAll('<li>', '<li id="">'));
    expect(turns).to.be.at.least(2);
  });

  it('takes no name that leads out of the folder', () => {
    write('secret', 'secret');
    const render = createPageRenderer({ viewsFolder: join(folder, 'partials'), assets });
    for (const name of ['../secret', '/etc/passwd', 'a/../../secret', 'secret\0'])
      expect(() => render(name, {}), name).to.throw('There is no view');
  });

  it('is not led astray by names of the model that EJS or Object know', () => {
    write('page', '<%= h.count(1) %> <%= locals.settings %> <%= typeof toString %>');
    const render = createPageRenderer({ viewsFolder: folder, assets });
    const model = JSON.parse('{"h": 1, "include": 2, "settings": "s", "__proto__": {"x": 1}}') as object;
    expect(render('page', model)).to.equal('1 s function');
  });

  it('lets a template declare a name of its model again', () => {
    write('page', '<% const level = locals.level ?? 3; title += "!"; %><%= title %> <%= level %>');
    const render = createPageRenderer({ viewsFolder: folder, assets });
    expect([render('page', { title: 'a', level: 2 }), render('page', { title: 'b' })]).to.deep.equal([
      'a! 2',
      'b! 3',
    ]);
  });

  it('takes models of any names, and of any number of them', () => {
    write('page', `<%= locals['a-b'] %> <%= locals.class %> <%= typeof n3 === 'undefined' ? '-' : n3 %>`);
    const render = createPageRenderer({ viewsFolder: folder, assets });
    for (let number = 0; number < 40; number++) {
      const model = { 'a-b': 1, class: 2, __output: 'no', [`n${number}`]: '<', '"; throw 1; //': 3 };
      expect(render('page', model)).to.equal(`1 2 ${number === 3 ? '&lt;' : '-'}`);
    }
  });
});
