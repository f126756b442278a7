import { DatabaseSync } from 'node:sqlite';
import express from 'express';
import hindsight from 'express-hindsight';

const app = express();
const profiler = hindsight(app);

const db = new DatabaseSync(':memory:');
db.exec(`
  create table authors (id integer primary key, name text);
  create table books (title text, author_id integer);
  insert into authors values (1, 'Ada'), (2, 'Grace'), (3, 'Margaret');
  insert into books values ('Notes', 1), ('Compilers', 2), ('Apollo', 3), ('Engines', 1), ('Bugs', 2), ('Priorities', 3);
`);

// An N+1: one query for the books, and one more for the author of each.
app.get('/', (request, response) => {
  const books = db.prepare('select * from books').all();
  const rows = books.map(({ title, author_id }) => {
    const author = db.prepare('select name from authors where id = ?').get(author_id);
    return `<li>${title} by ${author.name}</li>`;
  });
  response.send(
    `<!doctype html><html><head><title>Books</title></head><body><ul>${rows.join('')}</ul></body></html>`,
  );
});

app.get('/fails', () => {
  throw new Error('Nobody wrote this book.');
});

app.use(profiler.notFound);
app.use(profiler.errors);
app.listen(3000, '127.0.0.1');
