/** An event stream that runs until the browser disconnects. */
import { Router } from 'express';

const TICK_MS = 1000;

export default function createEvents(): Router {
  const router = Router();
  router.get('/', (request, response) => {
    response.set({ 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.flushHeaders();
    let ticks = 0;
    const tick = (): void => {
      ticks++;
      response.write(`event: tick\ndata: ${JSON.stringify({ ticks })}\n\n`);
    };
    tick();
    const timer = setInterval(tick, TICK_MS);
    request.on('close', () => clearInterval(timer));
  });
  return router;
}
