/** Panels of a profile for JSON: always writable, and within a limit of size. */
import type { PanelRecord } from '../../profiler/profile.ts';

/** Bytes of all panels together. What a request records is limited to 1 MiB; derived values come on top. */
const LARGEST = 4 * 1024 * 1024;

/** `omittedBytes`: its data was left out because all panels together would be too large. */
export type JsonPanel = PanelRecord & { omittedBytes?: number };

interface Measured {
  name: string;
  record: JsonPanel;
  bytes: number;
}

/** A panel whose data can't be written as JSON, such as one of the host's own, becomes its error. */
function measure([name, record]: [string, PanelRecord]): Measured {
  try {
    return { name, record, bytes: Buffer.byteLength(JSON.stringify(record)) };
  } catch (error) {
    return { name, record: { data: null, summary: null, error: String(error) }, bytes: 0 };
  }
}

/** The same panels; the largest lose their data until the rest fits. */
export function jsonPanels(
  panels: Readonly<Record<string, PanelRecord>>,
  largest = LARGEST,
): Record<string, JsonPanel> {
  const measured = Object.entries(panels).map(measure);
  let excess = measured.reduce((sum, { bytes }) => sum + bytes, 0) - largest;
  for (const panel of measured.toSorted((a, b) => b.bytes - a.bytes)) {
    if (excess <= 0) break;
    excess -= panel.bytes;
    panel.record = { ...panel.record, data: null, omittedBytes: panel.bytes };
  }
  return Object.fromEntries(measured.map(({ name, record }) => [name, record]));
}
