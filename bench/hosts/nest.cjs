/** NestJS: two controllers' routes, a guard and a parameter. */
require('reflect-metadata');
const { NestFactory } = require('@nestjs/core');
const { Controller, Get, Module, Param, UseGuards } = require('@nestjs/common');

class EveryoneGuard {
  canActivate() {
    return true;
  }
}

class CatsController {
  list() {
    return [{ id: '1' }, { id: '2' }];
  }

  one(id) {
    return { id };
  }
}

/** Decorators, as TypeScript would apply them. */
function decorate(prototype, name, decorators) {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
  for (const decorator of decorators) decorator(prototype, name, descriptor);
}

Param('id')(CatsController.prototype, 'one', 0);
decorate(CatsController.prototype, 'list', [Get()]);
decorate(CatsController.prototype, 'one', [UseGuards(EveryoneGuard), Get(':id')]);
Controller('cats')(CatsController);

class AppModule {}
Module({ controllers: [CatsController] })(AppModule);

NestFactory.create(AppModule, { logger: false }).then((app) =>
  app.listen(Number(process.env.BENCH_PORT), '127.0.0.1'),
);
