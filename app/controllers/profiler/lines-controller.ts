/** `/_profiler/<token>.jsonl`: a profile as it is stored, in lines of JSON that `express-hindsight import` reads. */
import { exportLines } from '../../profiler/exported-profile.ts';
import type { PageAction, PageServices } from './page-services.ts';
import { createRespond } from './respond.ts';
import { createUnknownTokenError } from './unknown-token.ts';

const LINES_TYPE = 'application/jsonl; charset=utf-8';

export function createLinesController(services: PageServices): { lines: PageAction } {
  const respond = createRespond(services);
  return {
    async lines(page) {
      const { token = '' } = page.params;
      const exported = await services.profiles.readExported(token);
      if (exported === null) throw await createUnknownTokenError(services, token);
      const headers = { 'content-disposition': `attachment; filename="${token}.jsonl"` };
      respond(page, { type: LINES_TYPE, body: exportLines(exported), headers });
    },
  };
}
