/** The header block as sent -> name, value … in order and case. */
export function readHeaderBlock(block: string): string[] {
  const [, ...lines] = block.split('\r\n');
  return lines.flatMap((line) => {
    const colon = line.indexOf(':');
    return colon < 1 ? [] : [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
}
