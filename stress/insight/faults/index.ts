/** What is planted, by area. */
import type { Fault } from '../fault.ts';
import { calls } from './calls.ts';
import { code } from './code.ts';
import { database } from './database.ts';
import { http } from './http.ts';

export const faults: readonly Fault[] = [...database, ...calls, ...code, ...http];
