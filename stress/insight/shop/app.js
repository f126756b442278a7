import { fileURLToPath } from 'node:url';
import compression from 'compression';
import express from 'express';
import session from 'express-session';
import { account } from './account.js';
import { checkout } from './checkout.js';
import { files } from './files.js';
import { loadCustomer, loadSettings, onError, onMissing, tagRequest } from './middleware.js';
import { orders } from './orders.js';
import { pages } from './pages.js';
import { products } from './products.js';
import { reports } from './reports.js';

export function createApp(app) {
  app.disable('x-powered-by');
  app.set('views', fileURLToPath(new URL('views', import.meta.url)));
  app.set('view engine', 'ejs');
  app.set('view cache', true);
  app.use(tagRequest);
  app.use(compression({ threshold: 2048 }));
  app.use(
    session({
      secret: 'a shop that is open all night',
      resave: false,
      saveUninitialized: false,
      cookie: { sameSite: 'lax' },
    }),
  );
  app.use(express.json({ limit: '200kb' }));
  app.use(express.urlencoded({ extended: false }));
  app.use(loadSettings);
  app.use(loadCustomer);
  app.use('/orders', orders);
  app.use('/products', products);
  app.use('/checkout', checkout);
  app.use('/account', account);
  app.use('/reports', reports);
  app.use('/files', files);
  app.use('/', pages);
  app.use(onMissing);
  app.use(onError);
}
