/** A value of a cache that came from a request of somebody else, as far as headers tell who it is. */
import { givenValue } from '../panels/shared/read-statement.ts';
import { receivedBy } from '../panels/shared/received.ts';
import type { KeptRequest } from '../panels/request/data.ts';
import type { EarlierRequest, FindingDraft, FindingRule } from '../profiler/finding-rule.ts';
import type { Command } from './shared/cache.ts';
import type { Kept, Needs } from './shared/kept.ts';
import { PRIMARY, readsOf } from './shared/queries.ts';
import { excerpt } from './shared/wording.ts';

/** Request headers by which a gateway says whose the request is. */
const IDENTITY = /^x-(account|customer|member|tenant|user)(?:-?id)?$/i;

interface Identity {
  header: string;
  /** `customer` */
  word: string;
  value: string;
}

function identityOf(request: KeptRequest | undefined): Identity | null {
  const found = request?.headers.find(({ name }) => IDENTITY.test(name));
  if (found === undefined || found.value === '') return null;
  const header = found.name.toLowerCase();
  return { header, word: IDENTITY.exec(header)?.[1] ?? header, value: found.value };
}

function isFound({ hits, asked, key }: Command): boolean {
  return hits === 1 && asked === 1 && key !== null;
}

/** Whether a statement asked for what is that customer's. */
function asksFor({ word, value }: Identity, database: Kept['database']): boolean {
  return readsOf(database).some(({ read, query }) =>
    read.where?.some(
      ({ column, operator, values }) =>
        operator === '=' &&
        (column.toLowerCase().includes(word) ||
          (PRIMARY.test(column) && read.table?.toLowerCase().includes(word) === true)) &&
        values.some((one) => {
          const given = givenValue(one, query.bindings);
          return (typeof given === 'number' ? String(given) : given) === value;
        }),
    ),
  );
}

/** Whose the value is that another request stored under this key; null: nobody’s, or that is not known. */
function ownerOf(key: string, earlier: readonly EarlierRequest[]): (Identity & { token: string }) | null {
  const filler = earlier.find(({ kept }) =>
    (kept.cache as Kept['cache'] | undefined)?.items.some(
      (one) => one.key === key && /^(?:SET|SETEX|PSETEX)$/.test(one.command),
    ),
  );
  const { request, database } = (filler?.kept ?? {}) as Partial<Kept>;
  const identity = identityOf(request);
  if (filler === undefined || identity === null || database === undefined) return null;
  // An address that names it has it for everybody.
  const isNamed = receivedBy(filler.head, { request }).has(identity.value);
  return isNamed || !asksFor(identity, database) ? null : { ...identity, token: filler.head.token };
}

const cacheOfAnotherCaller: FindingRule<Needs<'cache' | 'request'>> = {
  name: 'cache-of-another-caller',
  needs: ['cache', 'request'],
  labels: ['another caller'],
  why: 'An earlier request with another value in the same header (`X-Customer`, `X-User`, `X-Tenant`, …) stored the value. Its statement asked for that value, and the key has neither.',
  fix: 'Put the value of the header into the key, or cache only data that is the same for all.',
  compares: ({ cache, request }) => identityOf(request) !== null && cache.items.some(isFound),
  find({ cache, request }, _head, { earlier }) {
    const own = identityOf(request);
    if (own === null) return [];
    return cache.items.flatMap((item, index): FindingDraft[] => {
      const { command, key, caller: place } = item;
      const owner = isFound(item) && key !== null ? ownerOf(key, earlier) : null;
      if (key === null || owner?.header !== own.header || owner.value === own.value) return [];
      const parts = key.split(/[:/|.-]/);
      if (parts.includes(own.value) || parts.includes(owner.value)) return [];
      const sentence = `${command} found a value that was stored for another ${own.header} (${owner.token}): its statement asks for that one, and the key ${excerpt(key, 60)} names none`;
      return [{ broke: 'response', severity: 'bad', sentence, anchor: `k${index + 1}`, place }];
    });
  },
};

export const cacheProvenanceRules: readonly FindingRule[] = [cacheOfAnotherCaller];
