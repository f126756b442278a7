/** The near side of run.ts: how a test file gets what the whole run shares. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

export type PartName =
  | 'build'
  | 'chromium'
  | 'postgresCluster'
  | 'postgres'
  | 'embeddedCluster'
  | 'embeddedPostgres'
  | 'postgresPrograms'
  | 'redis';

/** `value` tells how to reach the part; it travels as JSON. */
export interface Part {
  value: unknown;
  stop?(): Promise<unknown>;
}

/** The value of a part, which is started when nobody has asked for it before. */
export async function sharedPart<T>(name: PartName): Promise<T> {
  const socket = connect(Number(process.env.HINDSIGHT_TEST_PARTS), '127.0.0.1');
  await once(socket, 'connect');
  socket.write(name);
  const { value, error } = JSON.parse(await text(socket)) as { value: T; error?: string };
  if (error !== undefined) throw new Error(`${name}: ${error}`);
  return value;
}
