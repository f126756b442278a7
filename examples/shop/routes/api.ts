/** The JSON API of the shop: lists, payments, and endpoints that fail as services do. */
import { Router } from 'express';
import { findProduct, listProducts } from '../catalogue.ts';
import { CheckoutError, PaymentError } from '../errors.ts';
import type { ShopServices } from '../services.ts';

const LONGEST_WAIT_MS = 5000;

function isPayment(body: unknown): body is { cardNumber: string } {
  return (
    typeof body === 'object' && body !== null && 'cardNumber' in body && typeof body.cardNumber === 'string'
  );
}

/** Reads a missing rate: the root cause of a chain of three errors. */
function readRate(rates: Readonly<Record<string, { value: number } | undefined>>, currency: string): number {
  const rate = rates[currency] as { value: number };
  return rate.value;
}

function convert(cents: number, currency: string): number {
  try {
    return cents * readRate({ eur: { value: 1 } }, currency);
  } catch (cause) {
    throw new PaymentError(`No price in ${currency}.`, { code: 'NO_RATE', cause });
  }
}

export default function createApi({ db }: ShopServices): Router {
  const router = Router();

  router.get('/products', async (_request, response) => {
    response.json({ products: await listProducts(db(), { limit: 50 }) });
  });

  router.get('/products/:id', async (request, response) => {
    response.json(await findProduct(db(), Number.parseInt(request.params.id, 10) || 0));
  });

  router.get('/rates', (_request, response) => {
    response.json({ usd: 1.09 });
  });

  router.post('/payments', (request, response) => {
    const paid = isPayment(request.body) && request.body.cardNumber.replace(/\s/g, '').length >= 12;
    response.status(paid ? 201 : 402).json({ paid });
  });

  /** A nested error: CheckoutError, caused by PaymentError, caused by a TypeError. */
  router.get('/quote', (request, response) => {
    const currency = typeof request.query.currency === 'string' ? request.query.currency : 'xau';
    try {
      response.json({ cents: convert(4800, currency) });
    } catch (cause) {
      throw new CheckoutError('The quote could not be made.', { cause });
    }
  });

  /** A 5xx without an error. */
  router.get('/stock', (_request, response) => {
    console.error('the warehouse does not answer');
    response.status(503).json({ problem: 'The warehouse does not answer.' });
  });

  router.get('/slow', async (request, response) => {
    const ms = Math.min(Number(request.query.ms) || 800, LONGEST_WAIT_MS);
    await db().raw('select pg_sleep(?)', [ms / 1000]);
    response.json({ waitedMs: ms });
  });

  return router;
}
