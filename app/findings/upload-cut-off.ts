/** A body that was announced longer than what came before the connection ended. */
import type { KeptRequest } from '../panels/request/index.ts';
import type { FindingRule } from '../profiler/finding.ts';
import { numberHelpers } from '../view-helpers/numbers.ts';
import { receivedHeader } from './shared/http.ts';

const { bytesText, percentText } = numberHelpers;

export const uploadCutOff: FindingRule<{ request: KeptRequest }> = {
  name: 'upload-cut-off',
  needs: ['request'],
  labels: ['upload cut'],
  known:
    'Content-Length announced more than had come when the connection ended, and the answer did not end either.',
  mends:
    'Let the client try again; look at time limits of proxies and of the server (`requestTimeout`) where it happens often.',
  find({ request }, { outcome }) {
    if (outcome !== 'aborted') return [];
    const announced = Number(receivedHeader(request, 'content-length') ?? 0);
    const came = request.body?.bytes ?? 0;
    if (!Number.isFinite(announced) || announced <= came) return [];
    return [
      {
        label: 'upload cut',
        severity: 'warn',
        sentence: `The upload ended after ${bytesText(came)} of ${bytesText(announced)}, ${percentText(came, announced)}`,
        panel: 'request',
        anchor: 'body',
      },
    ];
  },
};
