/** A real NestJS application without decorators' syntax: they are functions. */
import 'reflect-metadata';
import { Controller, Get, Module, NotFoundException, Param } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { INestApplication } from '@nestjs/common';
import { expect } from 'chai';
import type { AddressInfo } from 'node:net';
import { createProfiler, type Profiler } from '../../app/index.ts';
import type { ExceptionData } from '../../app/panels/exception/data.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { until } from '../support/waiting.ts';

class OrdersController {
  find(id: string): string {
    if (id === '7') throw new NotFoundException('No order 7');
    if (id === '8') throw new TypeError('no price');
    return `order ${id}`;
  }
}

class ShopModule {
  readonly title = 'Shop';
}

const find = Object.getOwnPropertyDescriptor(OrdersController.prototype, 'find') ?? {};
Get(':id')(OrdersController.prototype, 'find', find);
Param('id')(OrdersController.prototype, 'find', 0);
Controller('orders')(OrdersController);
Module({ controllers: [OrdersController] })(ShopModule);

describe('NestJS as it is observed', () => {
  let profiler: Profiler;
  let app: INestApplication;
  let origin: string;

  before(async () => {
    profiler = createProfiler({ warn: () => undefined });
    // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- NestJS takes plain options
    app = await NestFactory.create(ShopModule, { logger: false });
    app.use(profiler.watch);
    await app.listen(0, '127.0.0.1');
    const { port } = (app.getHttpServer() as { address(): AddressInfo }).address();
    origin = `http://127.0.0.1:${port}`;
  });
  after(async () => {
    await app?.close();
    await profiler?.close();
  });

  async function ask(path: string): Promise<{ status: number; profile: Profile }> {
    const response = await fetch(`${origin}${path}`);
    await response.text();
    let profile: Profile | undefined;
    await until(async () => {
      profile = (await profiler.profiles.read(response.headers.get('x-debug-token') ?? ''))?.profile;
      return profile?.state === 'final';
    }, 'the profile is final');
    return { status: response.status, profile: profile! };
  }

  function thrownIn({ panels }: Profile): (string | undefined)[] {
    const { errors } = panels.exception?.data as ExceptionData;
    return errors.map(({ thrown }) => thrown.chain[0]?.class);
  }

  it('records what its exception filters answer, once', async () => {
    const missing = await ask('/orders/7');
    expect(missing.status).to.equal(404);
    expect(thrownIn(missing.profile)).to.deep.equal(['NotFoundException']);
    const failed = await ask('/orders/8');
    expect(failed.status).to.equal(500);
    expect(thrownIn(failed.profile)).to.deep.equal(['TypeError']);
    expect(failed.profile.error).to.deep.include({ name: 'TypeError', message: 'no price' });
  });

  it('names the handler by controller and method, and records no exception of a request that went well', async () => {
    const { status, profile } = await ask('/orders/1');
    expect([status, profile.route]).to.deep.equal([200, '/orders/:id']);
    expect(profile.panels.exception?.data ?? null).to.equal(null);
    const { route } = profile.panels.routing?.data as { route: { handler: string | null } };
    expect(route.handler).to.equal('OrdersController.find');
  });
});
