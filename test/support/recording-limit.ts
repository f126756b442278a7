/** A limit of full records although another file of this process imports `express-hindsight/testing`, which lifts it. */
import { processProfilers } from '../../app/compose/process-profilers.ts';

export function useRecordingLimit(): void {
  const profilers = processProfilers();
  let wasTested = false;
  before(() => {
    wasTested = profilers.isTested;
    profilers.isTested = false;
  });
  after(() => {
    profilers.isTested = wasTested;
  });
}
