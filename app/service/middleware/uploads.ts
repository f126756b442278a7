/** Uploads that killed processes left (multipart.ts). */
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive } from '../../profiler/is-alive.ts';

const NAME = /^upload-(\d+)-[0-9a-f]{32}$/;
/** No request lasts this long: an older one is left over, even if its pid is in use again. */
const OLDEST_MS = 3_600_000;

/** Removes them from `folder`; called once, at start. Returns how many. */
export async function cleanUploads(folder: string): Promise<number> {
  const startedAt = Date.now() - process.uptime() * 1000;
  let removed = 0;
  for (const name of await readdir(folder).catch(() => [])) {
    const pid = Number(NAME.exec(name)?.[1] ?? NaN);
    if (Number.isNaN(pid)) continue;
    const path = join(folder, name);
    const changedAt = (await stat(path).catch(() => null))?.mtimeMs ?? null;
    if (changedAt === null) continue;
    const ours = pid === process.pid && changedAt >= startedAt;
    if (ours || (pid !== process.pid && isAlive(pid) && Date.now() - changedAt < OLDEST_MS)) continue;
    await rm(path, { recursive: true, force: true }).then(
      () => removed++,
      () => undefined,
    );
  }
  return removed;
}
