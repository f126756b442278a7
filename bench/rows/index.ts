/** The rows in the order of the report. */
import type { Row } from '../harness/row.ts';
import { errorPage } from './error-page.ts';
import { hosts } from './hosts.ts';
import { memory } from './memory.ts';
import { bytes, page } from './page.ts';
import { otlp } from './otlp.ts';
import { pages } from './pages.ts';
import { controlOnly, plain, queries, sampledOut } from './requests.ts';
import { start } from './start.ts';
import { store } from './store.ts';
import { tail } from './tail.ts';
import { writer, writerEmbedded } from './writer.ts';

export const rows: readonly Row[] = [
  plain,
  queries,
  sampledOut,
  otlp,
  tail,
  writer,
  writerEmbedded,
  store,
  memory,
  start,
  page,
  pages,
  errorPage,
  bytes,
];

/** Asked for by name only. */
export const furtherRows: readonly Row[] = [controlOnly, hosts];
