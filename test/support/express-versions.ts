import express from 'express';
import { createRequire } from 'node:module';

export const express4 = createRequire(import.meta.url)('express-4') as typeof express;

/** Those that the profiler supports, by name. */
export const EXPRESS_VERSIONS: readonly (readonly [name: string, make: typeof express])[] = [
  ['Express 5', express],
  ['Express 4', express4],
];
