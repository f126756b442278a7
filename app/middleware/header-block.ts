/** The header block as sent -> name, value … in order and case. */
export function readHeaderBlock(block: string): string[] {
  const headers: string[] = [];
  for (const line of block.split('\r\n').slice(1)) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.push(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return headers;
}
