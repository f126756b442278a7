import { DatabaseSync } from 'node:sqlite';
import express, { type Request, type Response } from 'express';
import hindsight from 'express-hindsight';

interface Book {
  title: string;
  author_id: number;
}

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
app.get('/books', (_request: Request, response: Response) => {
  const books = db.prepare('select * from books').all() as unknown as Book[];
  response.json(
    books.map(({ title, author_id }) => ({
      title,
      author: db.prepare('select name from authors where id = ?').get(author_id)?.name,
    })),
  );
});

app.use(profiler.notFound);
app.use(profiler.errors);
app.listen(3000, '127.0.0.1');
