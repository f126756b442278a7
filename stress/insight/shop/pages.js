import { Router } from 'express';
import { db } from './db.js';

export const pages = Router();

pages.get('/', async function home(req, res) {
  const products = await db('products').select('id', 'name', 'price').orderBy('id').limit(12);
  res.render('home', { products, title: req.settings.title });
});

pages.get('/help/:topic', function help(req, res) {
  res.json({ topic: req.params.topic, text: 'Call us.' });
});

pages.get('/health', function health(req, res) {
  res.json({ ok: true });
});
