const express = require('express');
const { hindsight } = require('express-hindsight');
const { RestApplication } = require('@loopback/rest');

class GreetingController {
  greet(name) {
    if (name === 'nobody') throw Object.assign(new Error('Nobody is here'), { statusCode: 404 });
    return `Hello, ${name}`;
  }
}

const operation = {
  parameters: [{ name: 'name', in: 'path', required: true, schema: { type: 'string' } }],
  responses: { 200: { description: 'A greeting' } },
};

async function start() {
  const app = express();
  const profiler = hindsight(app);
  const loopback = new RestApplication({ rest: { listenOnStart: false } });
  loopback.route(
    'get',
    '/greet/{name}',
    operation,
    GreetingController,
    () => new GreetingController(),
    'greet',
  );
  const record = (context, next) => {
    profiler.fact('routeLabel', context.targetName);
    return profiler.span(context.targetName, next);
  };
  loopback.interceptor(record, { global: true });
  await loopback.start();
  app.use('/api', loopback.requestHandler);
  const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
    console.log(`http://127.0.0.1:${server.address().port}/api/greet/Ada`);
  });
}

void start();
