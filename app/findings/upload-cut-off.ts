/** The connection closed before the whole body had arrived. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { numberHelpers } from '../view-helpers/numbers.ts';
import { receivedHeader } from './shared/http.ts';

const { bytesText, percentText } = numberHelpers;

export const uploadCutOff: FindingRule<{ request: KeptRequest }> = {
  name: 'upload-cut-off',
  needs: ['request'],
  labels: ['incomplete upload'],
  why: 'Content-Length announced more bytes than had arrived when the connection closed, and the response had not finished.',
  fix: 'Let the client retry. If it happens often, check the timeouts of proxies and of the server (`requestTimeout`).',
  find({ request }, { outcome }) {
    if (outcome !== 'aborted') return [];
    const announced = Number(receivedHeader(request, 'content-length') ?? 0);
    const received = request.body?.bytes ?? 0;
    if (!Number.isFinite(announced) || announced <= received) return [];
    const sentence = `The upload ended after ${bytesText(received)} of ${bytesText(announced)} (${percentText(received, announced)})`;
    return [{ broke: 'response', severity: 'warn', sentence, anchor: 'body' }];
  },
};
