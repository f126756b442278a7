/** A router that reads the request stream itself, because a webhook's signature covers its bytes; mount it with `parsers: 'before'`. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import express, { Router } from 'express';

const SIGNATURE_HEADER = 'x-signature';

class SignatureError extends Error {
  readonly status = 401;

  constructor(message: string) {
    super(message);
    this.name = 'SignatureError';
  }
}

export function sign(body: Buffer, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

function matches(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** `secret`: shared with the sender. */
export function createWebhook({ secret }: { secret: string }): () => Router {
  return () => {
    const router = Router();
    router.post('/', express.raw({ type: () => true, limit: '1mb' }), (request, response) => {
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      if (!matches(request.get(SIGNATURE_HEADER) ?? '', sign(body, secret))) {
        throw new SignatureError('The signature does not belong to this body.');
      }
      response.status(202).json({ receivedBytes: body.length });
    });
    return router;
  };
}
