/**
 * NestJS 11 and later. Its exception filters answer what controllers throw, so Express never sees it: `express-hindsight:nestjs:exception`.
 * The functions that it registers as handlers have no name: they get that of controller and method.
 */
import diagnostics from 'node:diagnostics_channel';
import type { LibraryPatch } from '../libraries.ts';
import { nestStepPatches } from './nestjs-steps.ts';
import { wrapCalls } from './wrap-method.ts';

export const nestExceptionChannel = diagnostics.channel('express-hindsight:nestjs:exception');

interface Exports {
  ExceptionsHandler?: { prototype?: object };
  RouterExplorer?: { prototype?: object };
}

function nameHandler(handler: unknown, instance: unknown, method: unknown): void {
  const { constructor } = (instance ?? {}) as { constructor?: { name?: unknown } };
  if (typeof handler !== 'function' || handler.name !== '' || typeof constructor?.name !== 'string') return;
  Object.defineProperty(handler, 'name', {
    value: `${constructor.name}.${String(method)}`,
    configurable: true,
  });
}

export const nestPatches: readonly LibraryPatch[] = [
  {
    name: '@nestjs/core',
    file: 'exceptions/exceptions-handler.js',
    module: { file: 'exceptions/exceptions-handler.js', names: ['ExceptionsHandler'] },
    patch: (exports) =>
      wrapCalls((exports as Exports).ExceptionsHandler?.prototype, 'next', (call, _handler, [error]) => {
        nestExceptionChannel.publish({ error });
        return call();
      }),
  },
  {
    name: '@nestjs/core',
    file: 'router/router-explorer.js',
    module: { file: 'router/router-explorer.js', names: ['RouterExplorer'] },
    patch: (exports) =>
      wrapCalls(
        (exports as Exports).RouterExplorer?.prototype,
        'createCallbackProxy',
        (call, _explorer, args) => {
          const handler = call();
          nameHandler(handler, args[0], args[2]);
          return handler;
        },
      ),
  },
  ...nestStepPatches,
];
