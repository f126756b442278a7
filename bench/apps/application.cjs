/**
 * The measured application: (c) is Express with helmet, morgan, an EJS page of 2 KB and a 404 handler; with a Knex handed
 * in it is (d), which adds a page of five queries. CommonJS, because that is where every peer can follow it.
 *
 * `profiler` is mounted as a host mounts it; null leaves the application bare.
 */
const { join } = require('node:path');
const express = require('express');
const helmet = require('helmet');
const morgan = require('morgan');

/** Ten rows of text: about 2 KB of HTML. */
const items = Array.from({ length: 10 }, (_, number) => ({
  name: `Article ${number}`,
  price: 100 + number * 7,
  text: 'A thing that is sold here, with a sentence or two about what it is good for and what it is not.',
}));

async function readArticle(knex, id) {
  const article = await knex('articles').where({ id }).first();
  const author = await knex('authors').where({ id: article.author_id }).first();
  const comments = await knex('comments').where({ article_id: id }).orderBy('id').limit(10);
  const { count } = await knex('comments').where({ article_id: id }).count({ count: '*' }).first();
  const related = await knex('articles').whereNot({ id }).orderBy('id').limit(10).select('id', 'title');
  return { article, author, comments, count, related };
}

function addQueries(app, knex) {
  app.get('/db', async (request, response) => {
    const page = await readArticle(knex, 1 + (Number(request.query.id ?? 0) % 100));
    response.render('article', page);
  });
}

exports.createApplication = function createApplication({ profiler = null, knex = null } = {}) {
  const app = express();
  app.set('views', join(__dirname, 'views'));
  app.set('view engine', 'ejs');
  profiler?.watchApp(app);
  if (profiler !== null) {
    app.use(profiler.watch);
    app.use(profiler.pages);
  }
  app.use(helmet());
  app.use(morgan('combined'));
  app.get('/', (_request, response) => {
    response.render('page', { title: 'Articles', items });
  });
  if (knex !== null) {
    profiler?.watchKnex(knex);
    addQueries(app, knex);
  }
  app.use((_request, response) => {
    response.status(404).send('Not found');
  });
  if (profiler !== null) app.use(profiler.errors);
  return app;
};
