/** Plants one fault after the other, checks that its symptom is there, and judges what the profile complained of says. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import { openKnex, type TestConnection } from '../../test/support/postgres.ts';
import { sharedPart } from '../../test/support/shared-part.ts';
import { rootFolder } from '../../bench/harness/folders.ts';
import type { Answer, Fault } from './fault.ts';
import { startPartner } from './partner.ts';
import { type RunningShop, startShop } from './shop.ts';

/**
 * `full`: one of the first three findings names the mechanism and the place. `half`: one of the two. `false`: findings, of which none does.
 * `missed`: no finding. `void`: the symptom was not there, or was there without the fault.
 */
export type Verdict = 'full' | 'half' | 'false' | 'missed' | 'void';

export interface Judged {
  name: string;
  verdict: Verdict;
  findings: string[];
  places: string[];
}

export interface Outcome {
  judged: Judged[];
  /** Findings without a fault. */
  noise: string[];
}

const LOOKED_AT = 3;
/** A symptom of timing may fail to show on a busy machine. */
const TRIES = 3;
/** What comes late, such as a plan or work after the response, is part of the profile by then. */
const SETTLE_MS = 400;
const TEMPLATE = 'insight_shop';

function judge(findings: readonly string[], { says }: Fault, places: readonly string[]): Verdict {
  if (findings.length === 0) return 'missed';
  const looked = findings.slice(0, LOOKED_AT).map((line) => ({
    mechanism: says.test(line),
    // The last line of a path: `(routes.js:9 → orders.js:6)`.
    place:
      places.length === 0 ||
      places.some((place) => [`(${place})`, ` → ${place})`].some((text) => line.includes(text))),
  }));
  if (looked.some(({ mechanism, place }) => mechanism && place)) return 'full';
  return looked.some(({ mechanism, place }) => mechanism || (place && places.length > 0)) ? 'half' : 'false';
}

/** The usual answer of each fault's request, and what is found in it. */
interface Usual {
  answer: Answer;
  findings: string[];
}

export interface InsightOptions {
  faults: readonly Fault[];
  log: (line: string) => void;
  /** Called with each fault whose symptom shows, while its application runs. */
  examine?: (found: { fault: Fault; shop: RunningShop; answer: Answer; usual: Answer }) => Promise<void>;
}

export async function runFaults({ faults, log, examine }: InsightOptions): Promise<Outcome> {
  const connection = await sharedPart<TestConnection>('embeddedPostgres');
  const admin = openKnex(connection);
  const partner = await startPartner();
  const judged: Judged[] = [];
  const noise: string[] = [];

  async function withDatabase<T>(
    sql: string | undefined,
    work: (database: TestConnection) => Promise<T>,
  ): Promise<T> {
    await admin.raw('create database ?? template ??', ['insight_run', TEMPLATE]);
    try {
      if (sql !== undefined) await run(openKnex({ ...connection, database: 'insight_run' }), sql);
      return await work({ ...connection, database: 'insight_run' });
    } finally {
      await admin.raw('drop database ?? with (force)', ['insight_run']);
    }
  }

  async function askUsually(fault: Fault, shop: RunningShop): Promise<Usual> {
    partner.behave();
    const answer = await fault.ask(shop);
    await sleep(SETTLE_MS);
    return { answer, findings: await shop.findingsOf(answer.token) };
  }

  async function tryFault(fault: Fault, shop: RunningShop, usual: Answer): Promise<Judged> {
    const { name } = fault;
    const { places } = shop;
    for (let tries = 0; tries < TRIES; tries++) {
      partner.behave(fault.partner);
      const answer = await fault.ask(shop);
      await sleep(SETTLE_MS);
      if (!fault.symptom(answer, usual) || fault.symptom(usual, usual)) continue;
      await examine?.({ fault, shop, answer, usual });
      const findings = await shop.findingsOf(answer.token);
      return { name, places, findings, verdict: judge(findings, fault, places) };
    }
    return { name, places, findings: [], verdict: 'void' };
  }

  const started = (
    database: TestConnection,
    name: string,
    fault: Pick<Fault, 'change' | 'at'>,
  ): Promise<RunningShop> => startShop(fault, { database, partnerUrl: partner.url, name });

  try {
    await makeTemplate(admin, connection);
    const usual = new Map<string, Answer>();
    await withDatabase(undefined, async (database) => {
      const shop = await started(database, 'control', { at: [] });
      // The first request of each kind compiles, connects and fills caches.
      for (const fault of faults) await fault.ask(shop);
      for (const fault of faults) {
        const { answer, findings } = await askUsually(fault, shop);
        usual.set(fault.name, answer);
        noise.push(...findings.map((line) => `${fault.name} ${line}`));
      }
      await shop.stop();
    });
    for (const fault of faults) {
      const result = await withDatabase(fault.sql, async (database) => {
        const shop = await started(database, 'planted', fault);
        try {
          const answer = usual.get(fault.name);
          if (answer === undefined) throw new Error(`${fault.name} was not asked without its fault.`);
          return await tryFault(fault, shop, answer);
        } finally {
          await shop.stop();
        }
      });
      judged.push(result);
      log(`${result.verdict.padEnd(6)} ${fault.name} [${result.places.join(', ')}]`);
      for (const line of result.findings) log(`         ${line}`);
    }
    return { judged, noise };
  } finally {
    partner.close();
    await dropTemplate(admin);
    await admin.destroy();
  }
}

async function run(knex: Knex, sql: string): Promise<void> {
  await knex.raw(sql.replaceAll('?', '\\?'));
  await knex.destroy();
}

async function dropTemplate(admin: Knex): Promise<void> {
  await admin.raw('drop database if exists ?? with (force)', [TEMPLATE]);
}

async function makeTemplate(admin: Knex, connection: TestConnection): Promise<void> {
  await dropTemplate(admin);
  await admin.raw('create database ??', [TEMPLATE]);
  const schema = readFileSync(join(rootFolder, 'stress', 'insight', 'shop', 'schema.sql'), 'utf8');
  await run(openKnex({ ...connection, database: TEMPLATE }), schema);
}
