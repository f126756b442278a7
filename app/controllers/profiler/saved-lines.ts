/** A saved profile -> lines of exported JSON: from the HTML file, the JSON of a profile, or the lines themselves. */
import { isRecord } from '../../profiler/json.ts';
import { PROFILE_VERSION } from '../../profiler/profile.ts';

/** As `singleFile` writes it. */
const DATA = /<script type="application\/jsonl" id="hindsight-profile">\n([\s\S]*?)<\/script>/;
/** A document of this version has its panels as pages show them, and so has the JSON of a profile. */
const COMPLETE = 1;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Without what reading adds. */
function storedFindings(findings: unknown): unknown {
  if (!Array.isArray(findings)) return findings;
  return findings
    .filter((finding) => !isRecord(finding) || finding.rule !== 'route-regression')
    .map((finding: unknown) => (isRecord(finding) ? { ...finding, history: undefined } : finding));
}

function countOf(panel: unknown): number {
  const count = isRecord(panel) && isRecord(panel.summary) ? panel.summary.count : 0;
  return typeof count === 'number' ? count : 0;
}

/** The line that would import it; null if it is not JSON of a profile. */
function lineOf(text: string): string | null {
  const saved = parse(text);
  if (!isRecord(saved) || !isRecord(saved.profile)) return null;
  const { profile, amendments } = saved;
  const isLater = typeof profile.version !== 'number' || profile.version > PROFILE_VERSION;
  return JSON.stringify({
    version: 1,
    index: { queries: isRecord(profile.panels) ? countOf(profile.panels.database) : 0 },
    amendments,
    document: {
      ...profile,
      version: isLater ? profile.version : COMPLETE,
      findings: storedFindings(profile.findings),
    },
  });
}

export function savedLines(text: string): string[] {
  const embedded = DATA.exec(text)?.[1];
  if (embedded !== undefined) return embedded.split('\n');
  const line = lineOf(text);
  return line === null ? text.split('\n') : [line];
}
