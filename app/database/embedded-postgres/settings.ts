/**
 * How the embedded server is set up: small, for one machine and a handful of processes.
 *
 * Killing processes never damages the data and loses no commit older than 0.6 s: the log is written before the data,
 * torn pages are repaired, and a commit only does not wait for the disk (`synchronous_commit=off`); a process that ends
 * in order waits for it once (flush.ts). After a power loss
 * the same holds, since `fsync` stays on; only a folder made in the last seconds before it may have to be made anew.
 * `io_method=sync` and the zeros spare processes that this size has no use for.
 */
const SERVER_SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  max_connections: '60',
  superuser_reserved_connections: '1',
  shared_buffers: '32MB',
  huge_pages: 'off',
  io_method: 'sync',
  jit: 'off',
  synchronous_commit: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_replication_slots: '0',
  max_logical_replication_workers: '0',
  max_worker_processes: '0',
  max_parallel_workers_per_gather: '0',
  autovacuum_max_workers: '1',
  autovacuum_worker_slots: '1',
  min_wal_size: '32MB',
  max_wal_size: '256MB',
  // A crash is mended by reading the log; asking every file of the cluster to the disk first would take seconds.
  recovery_init_sync_method: 'syncfs',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // Starts, stops and failures of the server; no statement of a session, so that no value of one lands in the log.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_checkpoints: 'off',
};

/** Settings that only some systems have. */
export function serverSettings(platform: NodeJS.Platform = process.platform): Record<string, string> {
  const settings = { ...SERVER_SETTINGS };
  if (platform !== 'linux') delete settings.recovery_init_sync_method;
  return settings;
}

/** Small log segments and no wait for the disk: initdb takes a third less. Locale: bytewise order, Unicode upper and lower case. */
export const INITDB_ARGUMENTS: readonly string[] = [
  '--username=postgres',
  '--auth=trust',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--no-sync',
  '--no-instructions',
  '--no-data-checksums',
  '--wal-segsize=1',
  '--set=max_connections=60',
  '--set=shared_buffers=32MB',
  '--set=dynamic_shared_memory_type=posix',
  '--set=io_method=sync',
];
