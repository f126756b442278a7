/** The rows in the order of the report. */
import type { Row } from '../harness/row.ts';
import { plain, queries } from './requests.ts';
import { tail } from './tail.ts';
import { writer, writerEmbedded } from './writer.ts';

export const rows: readonly Row[] = [plain, queries, tail, writer, writerEmbedded];
