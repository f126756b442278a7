import { createHost } from './app.ts';

const { app } = createHost();
const server = app.listen(3000, '127.0.0.1', () => {
  console.log('http://127.0.0.1:3000/_profiler/');
});
process.once('SIGTERM', () => server.close());
