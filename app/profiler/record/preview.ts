/** The first bytes of a body that arrives in chunks. */

/** Grows a preview up to its limit. The buffer doubles, so that a trickle of single bytes stays cheap. */
export function createPreview(limit: number): (chunk: Buffer) => Buffer {
  let buffer = Buffer.alloc(0);
  let used = 0;
  return (chunk) => {
    const wanted = Math.min(limit, used + chunk.length);
    if (wanted > buffer.length) {
      const larger = Buffer.allocUnsafe(Math.min(limit, Math.max(wanted, buffer.length * 2)));
      buffer.copy(larger, 0, 0, used);
      buffer = larger;
    }
    used += chunk.copy(buffer, used, 0, wanted - used);
    return buffer.subarray(0, used);
  };
}
