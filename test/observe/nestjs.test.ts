/** Real NestJS applications without decorators' syntax, which are functions: version 12, and 11 if `npm run libraries` has installed it. */
import 'reflect-metadata';
import * as common12 from '@nestjs/common';
import * as core12 from '@nestjs/core';
import type { CallHandler, ExecutionContext, INestApplication, MiddlewareConsumer } from '@nestjs/common';
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { map, type Observable } from 'rxjs';
import { createProfiler, HindsightModule, type Profiler } from '../../app/index.ts';
import type { ExceptionData } from '../../app/panels/exception/data.ts';
import { ranOf } from '../../app/panels/overview/ran.ts';
import { receivedSteps } from '../../app/panels/overview/received.ts';
import type { SpansData } from '../../app/panels/spans/index.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { loadFrom } from '../libraries/cases.ts';
import { createMemoryStore } from '../support/memory-store.ts';
import { finalProfile } from '../support/final-profile.ts';

type Common = typeof common12;
type Core = typeof core12;

const { ordersController } = createRequire(import.meta.url)('../support/orders-controller.cjs') as {
  ordersController: (common: Common) => (new () => object) & { prototype: object };
};

const previous = loadFrom({ folder: 'previous', library: '@nestjs/core' });
const VERSIONS: [string, Common, Core][] = [['12', common12, core12]];
if (previous !== null)
  VERSIONS.push(['11', previous('@nestjs/common') as Common, previous('@nestjs/core') as Core]);

function shopOf(common: Common): new () => object {
  const { Body, Controller, Get, Param, ParseIntPipe, Post, UseGuards, UseInterceptors } = common;
  const OrdersController = ordersController(common);
  class DoorGuard {
    async canActivate(context: ExecutionContext): Promise<boolean> {
      await delay(5);
      return context.switchToHttp().getRequest<{ url: string }>().url !== '/parcels/13';
    }
  }

  class LoudInterceptor {
    intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
      return next.handle().pipe(map((value) => String(value).toUpperCase()));
    }
  }

  class SlowInterceptor {
    async intercept(_context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
      await delay(5);
      return next.handle();
    }
  }

  class ParcelsController {
    async find(id: number): Promise<string> {
      await delay(5);
      if (id === 7) throw new RangeError('No parcel 7');
      return `parcel ${id}`;
    }
    add(parcel: ParcelDto): ParcelDto {
      return parcel;
    }
  }

  class ParcelDto {
    weight?: number;
    fragile?: boolean | string;
  }

  class ValidationPipe {
    transform({ weight, fragile }: ParcelDto): ParcelDto {
      const parcel = Object.assign(new ParcelDto(), { weight: weight ?? 0 });
      return fragile === undefined ? parcel : Object.assign(parcel, { fragile: Boolean(fragile) });
    }
  }

  class TenantMiddleware {
    use(_req: unknown, _res: unknown, next: () => void): void {
      next();
    }
  }

  class ShopModule {
    readonly title = 'Shop';
    configure(consumer: MiddlewareConsumer): void {
      consumer.apply(TenantMiddleware).forRoutes(ParcelsController);
    }
  }

  const find = { value: Reflect.get(OrdersController.prototype, 'find') as unknown };
  Get(':id')(OrdersController.prototype, 'find', find);
  Param('id')(OrdersController.prototype, 'find', 0);
  Controller('orders')(OrdersController);

  const findParcel = Object.getOwnPropertyDescriptor(ParcelsController.prototype, 'find') ?? {};
  Get(':id')(ParcelsController.prototype, 'find', findParcel);
  UseGuards(DoorGuard)(ParcelsController.prototype, 'find', findParcel);
  UseInterceptors(LoudInterceptor, SlowInterceptor)(ParcelsController.prototype, 'find', findParcel);
  Param('id', ParseIntPipe)(ParcelsController.prototype, 'find', 0);
  const addParcel = Object.getOwnPropertyDescriptor(ParcelsController.prototype, 'add') ?? {};
  Post()(ParcelsController.prototype, 'add', addParcel);
  Body(ValidationPipe)(ParcelsController.prototype, 'add', 0);
  Reflect.defineMetadata('design:paramtypes', [ParcelDto], ParcelsController.prototype, 'add');
  Controller('parcels')(ParcelsController);
  common.Module({ controllers: [OrdersController, ParcelsController] })(ShopModule);
  return ShopModule;
}

const FILE = fileURLToPath(import.meta.url);
const lines = readFileSync(FILE, 'utf8').split('\n');

/** `test/observe/nestjs.test.ts:46`: the first line after that of the class which begins like this. */
function placeIn(className: string, method: string): string {
  const begin = lines.findIndex((line) => line.trim().startsWith(`class ${className} `));
  const at = lines.findIndex((line, index) => index > begin && line.trim().startsWith(method));
  return `test/observe/nestjs.test.ts:${at + 1}`;
}

for (const [version, common, core] of VERSIONS)
  describe(`NestJS ${version} as it is observed`, () => {
    const ShopModule = shopOf(common);
    let profiler: Profiler;
    let app: INestApplication;
    let origin: string;

    before(async () => {
      profiler = createProfiler({ warn: () => undefined });
      app = await core.NestFactory.create(ShopModule, { logger: false });
      app.use(profiler.watch);
      await app.listen(0, '127.0.0.1');
      const { port } = (app.getHttpServer() as { address(): AddressInfo }).address();
      origin = `http://127.0.0.1:${port}`;
    });
    after(async () => {
      await app?.close();
      await profiler?.close();
    });

    async function ask(
      path: string,
      init?: RequestInit,
    ): Promise<{ status: number; text: string; profile: Profile }> {
      const response = await fetch(`${origin}${path}`, init);
      const text = await response.text();
      return { status: response.status, text, profile: await finalProfile(profiler, response) };
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
      const { route } = profile.panels.routing?.data as {
        route: { handler: string | null; source: string | null };
      };
      expect(route).to.include({
        handler: 'OrdersController.find',
        source: 'test/support/orders-controller.cjs:5',
      });
      const parcel = await ask('/parcels/1');
      const { trace } = parcel.profile.panels.routing?.data as {
        trace: { handler: string | null; source: string | null }[];
      };
      expect(trace.map(({ handler }) => handler)).not.to.include('handler');
      expect(trace.find(({ handler }) => handler === 'TenantMiddleware')?.source).to.equal(
        placeIn('TenantMiddleware', 'use('),
      );
      // Of an ES module. Not the line that starts the application.
      expect(parcel.profile.panels.routing?.data).to.have.nested.property(
        'route.source',
        placeIn('ParcelsController', 'async find('),
      );
    });

    /** Texts of the steps `after pipes`. */
    function shownOf(profile: Profile): unknown[] {
      const steps = receivedSteps(profile, { ran: ranOf(profile), compared: [] });
      return steps.filter(({ label }) => label === 'after pipes').map(({ text }) => text);
    }

    function stepsOf({ panels }: Profile): SpansData['items'] {
      return (panels.spans?.data as SpansData | undefined)?.items ?? [];
    }

    it('records guards, interceptors, pipes and the controller as spans inside each other', async () => {
      const { status, text, profile } = await ask('/parcels/1');
      expect([status, text]).to.deep.equal([200, 'PARCEL 1']);
      const steps = stepsOf(profile);
      expect(steps.map(({ name, inside, error, caller }) => [name, inside, error, caller])).to.deep.equal([
        ['Guard DoorGuard', null, null, placeIn('DoorGuard', 'async canActivate(')],
        ['Interceptor LoudInterceptor', null, null, placeIn('LoudInterceptor', 'intercept(')],
        ['Interceptor SlowInterceptor', 1, null, placeIn('SlowInterceptor', 'async intercept(')],
        ['Controller ParcelsController.find', 2, null, placeIn('ParcelsController', 'async find(')],
        ['Pipe ParseIntPipe (id)', 3, null, null],
      ]);
      const [guard, loud, slow, controller, pipe] = steps.map(({ durationMs }) => durationMs!);
      expect(guard).to.be.at.least(4);
      expect(controller).to.be.at.least(4).and.at.least(pipe!);
      expect(slow!).to.be.at.least(controller! + 4);
      expect(loud).to.be.at.least(slow!);
    });

    it('records what a pipe took out of the body', async () => {
      const send = (body: object) =>
        ask('/parcels', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
      const removed = async (body: object) =>
        stepsOf((await send(body)).profile).find(({ name }) => name.startsWith('Pipe'))?.removed;
      expect(await removed({ weight: 3, label: 'blue' })).to.deep.equal({
        names: ['label'],
        as: 'ParcelDto',
      });
      expect(await removed({ weight: 3 })).to.equal(undefined);
    });

    it('records and shows what a pipe made of texts', async () => {
      const send = (body: object) =>
        ask('/parcels', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
      const pipeOf = ({ profile }: { profile: Profile }) =>
        stepsOf(profile).find(({ name }) => name.startsWith('Pipe'));
      const misread = await send({ weight: 3, fragile: 'false' });
      expect(pipeOf(misread)?.converted).to.deep.equal({
        fields: [{ name: 'fragile', value: true }],
        as: 'ParcelDto',
      });
      const [found] = misread.profile.findings.filter(({ rule }) => rule === 'false-as-true');
      expect(found?.sentence).to.equal(
        'fragile was received as the text “false”, and Pipe ValidationPipe, which makes a ParcelDto, gave true to the handler (Boolean("false") is true, as of any text)',
      );
      expect(shownOf(misread.profile)).to.deep.equal(['{ fragile: true }']);
      const right = await send({ weight: 3, fragile: 'true' });
      expect(right.profile.findings.map(({ rule }) => rule)).not.to.include('false-as-true');
      expect(shownOf(right.profile), 'the same but for its type').to.deep.equal([]);
      const number = await ask('/parcels/1');
      expect(pipeOf(number)?.converted).to.deep.equal({ fields: [{ name: 'id', value: 1 }], as: '' });
      expect(pipeOf(await send({ weight: 3, fragile: true }))?.converted).to.equal(undefined);
    });

    it('says which of them refused or failed, as often as requests ask at once', async () => {
      const refused = await ask('/parcels/13');
      expect(refused.status).to.equal(403);
      expect(stepsOf(refused.profile).map(({ name, error }) => [name, error])).to.deep.equal([
        ['Guard DoorGuard', 'returned false'],
      ]);
      const malformed = await ask('/parcels/x');
      expect(malformed.status).to.equal(400);
      expect(stepsOf(malformed.profile).at(-1)?.error).to.match(/^BadRequestException: Validation failed/);
      const all = await Promise.all(Array.from({ length: 20 }, () => ask('/parcels/7')));
      for (const { status, profile } of all) {
        expect(status).to.equal(500);
        expect(stepsOf(profile).map(({ inside, error }) => [inside, error])).to.deep.equal([
          [null, null],
          [null, 'RangeError: No parcel 7'],
          [1, 'RangeError: No parcel 7'],
          [2, 'RangeError: No parcel 7'],
          [3, null],
        ]);
      }
    });

    it('are recorded by HindsightModule.forRoot, until the application is closed', async () => {
      class RootModule {
        readonly title = 'Root';
      }
      const memory = createMemoryStore();
      let isClosed = false;
      const storage = { ...memory, close: () => memory.close().finally(() => (isClosed = true)) };
      const hindsight = HindsightModule.forRoot({ storage, warn: () => undefined });
      common.Module({ imports: [ShopModule, hindsight] })(RootModule);
      const root: INestApplication = await core.NestFactory.create(RootModule, { logger: false });
      await root.listen(0, '127.0.0.1');
      const { port } = (root.getHttpServer() as { address(): AddressInfo }).address();
      const own = `http://127.0.0.1:${port}`;
      const response = await fetch(`${own}/parcels/2`);
      expect(await response.text()).to.equal('PARCEL 2');
      const page = await fetch(`${own}/_profiler/${response.headers.get('x-debug-token')}?panel=spans`);
      expect(await page.text()).to.include('Interceptor LoudInterceptor');
      expect(isClosed).to.equal(false);
      await root.close();
      expect(isClosed).to.equal(true);
    });
  });
