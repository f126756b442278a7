/** Pages and forms: catalogue, orders (with an N+1), login, checkout, upload. */
import express, { Router, type Request } from 'express';
// For the type of request.files, which the service's upload parser fills.
import type {} from 'multer';
import { fileURLToPath } from 'node:url';
import { findCustomer, findProduct, listProducts } from '../catalogue.ts';
import { CheckoutError, NotFoundError, PaymentError } from '../errors.ts';
import { findOrder, listOrders, placeOrder } from '../orders.ts';
import { dailyReport } from '../report.ts';
import type { ShopServices } from '../services.ts';

/** Findings at each address. */
const FAULTS: readonly (readonly [path: string, fault: string])[] = [
  ['/orders', 'a query in a loop (N+1)'],
  ['/reports/daily', '200 queries, and a log line for each'],
  ['/products/4711', 'a 404 that the application throws'],
  ['/product/1', 'no such route, but one that is nearly the same'],
  ['/api/quote', 'an error with two causes below it'],
  ['/api/stock', 'a 503 without an error'],
  ['/api/slow?ms=1200', 'a slow query'],
  ['/orders/1', 'a call to the service itself while the page waits'],
  ['/checkout', 'order with card number 1: the payment fails inside a transaction'],
  ['/login', 'log in with a short password: a 401 and a warning'],
];

type Form = Readonly<Record<string, unknown>>;

function formOf(request: Request): Form {
  const body: unknown = request.body;
  return typeof body === 'object' && body !== null ? (body as Form) : {};
}

function textOf(form: Form, name: string): string {
  const value = form[name];
  // PostgreSQL text can't contain NUL.
  return typeof value === 'string' && !value.includes('\0') ? value.trim() : '';
}

/** A positive integer, otherwise 0. */
function numberOf(text: string): number {
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;
}

/** Address of this server, for calls to itself. */
function localUrl(request: Request, path: string): string {
  return `http://127.0.0.1:${request.socket.localPort ?? 0}${path}`;
}

async function pay(request: Request, card: string): Promise<void> {
  const reply = await fetch(localUrl(request, '/api/payments'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ cardNumber: card }),
  });
  if (reply.ok) return;
  const cause = new PaymentError('The bank refused the card.', { code: 'CARD_REFUSED' });
  throw new CheckoutError('The order was not placed.', { status: 402, cause });
}

export default function createPages({ db }: ShopServices): Router {
  const router = Router();
  router.use('/shop', express.static(fileURLToPath(new URL('../public', import.meta.url))));

  router.get('/', async (_request, response) => {
    response.render('home', { products: await listProducts(db(), { limit: 50 }) });
  });

  router.get('/products/:id', async (request, response) => {
    const product = await findProduct(db(), numberOf(request.params.id));
    console.log('showing product %d', product.id);
    response.render('product', { product });
  });

  router.get('/orders', async (_request, response) => {
    const orders = await listOrders(db(), { limit: 20 });
    console.info(`listed ${orders.length} orders`);
    response.render('orders', { orders });
  });

  router.get('/orders/:id', async (request, response) => {
    const order = await findOrder(db(), numberOf(request.params.id));
    const rates = await fetch(localUrl(request, '/api/rates'));
    const { usd } = (await rates.json()) as { usd: number };
    response.render('order', { order, usd });
  });

  router.get('/reports/daily', async (_request, response) => {
    response.render('report', { rows: await dailyReport(db()) });
  });

  router.get('/faults', (_request, response) => {
    response.render('faults', { faults: FAULTS });
  });

  router.get('/login', (_request, response) => {
    response.render('login', { problem: null });
  });

  // A demonstration: the form says who the visitor is, and there is no session.
  router.post('/login', async (request, response) => {
    const form = formOf(request);
    const customer = await findCustomer(db(), textOf(form, 'email'));
    if (customer === null || textOf(form, 'password').length < 8) {
      console.warn('login refused for %s', textOf(form, 'email'));
      response.status(401).render('login', { problem: 'E-mail and password do not belong together.' });
      return;
    }
    response.redirect(303, `/account/${customer.id}`);
  });

  router.get('/account/:id', async (request, response) => {
    const id = numberOf(request.params.id);
    const customer = await db()('customers')
      .where({ id })
      .first<{ name: string; email: string } | undefined>();
    if (customer === undefined) throw new NotFoundError(`customer ${id}`);
    response.render('account', { customer, upload: null });
  });

  router.post('/account/:id/picture', (request, response) => {
    const files = Array.isArray(request.files) ? request.files : [];
    const [file] = files;
    const upload = file === undefined ? null : { name: file.originalname, bytes: file.size };
    response.render('account', { customer: { name: 'Your picture', email: '' }, upload });
  });

  router.get('/checkout', async (_request, response) => {
    response.render('checkout', { products: await listProducts(db(), { limit: 50 }) });
  });

  router.post('/checkout', async (request, response) => {
    const form = formOf(request);
    const customer = await findCustomer(db(), textOf(form, 'email'));
    if (customer === null) throw new CheckoutError('Nobody is known by this e-mail.', { status: 422 });
    const basket = {
      customerId: customer.id,
      productId: numberOf(textOf(form, 'product')),
      quantity: numberOf(textOf(form, 'quantity')) || 1,
    };
    const id = await placeOrder(db(), basket, () => pay(request, textOf(form, 'card_number')));
    console.info('order %d placed', id);
    response.redirect(303, `/orders/${id}`);
  });

  return router;
}
