/** The shop's errors. `status` is the status of the response; without it, an error is a 500. */

export class StockError extends Error {
  constructor(product: string, wanted: number, stock: number) {
    super(`${wanted} of "${product}" were ordered, but ${stock} are left.`);
    this.name = 'StockError';
  }
}

export class PaymentError extends Error {
  readonly code: string;

  constructor(message: string, options: { code: string; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.name = 'PaymentError';
    this.code = options.code;
  }
}

export class CheckoutError extends Error {
  readonly status: number;

  constructor(message: string, options: { status?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'CheckoutError';
    this.status = options.status ?? 500;
  }
}

export class NotFoundError extends Error {
  readonly status = 404;

  constructor(what: string) {
    super(`There is no ${what}.`);
    this.name = 'NotFoundError';
  }
}
