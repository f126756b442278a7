/** The fix of a finding as code, as Markdown. */
import type { FixCode } from '../../profiler/finding.ts';
import { blocks, fence, prose } from '../../view-helpers/markdown.ts';

/** With what it assumes, which may contain names of the application. */
export function codeMarkdown({ text, language, assumes }: FixCode): string {
  return blocks([fence(text, language), prose(assumes)]);
}
