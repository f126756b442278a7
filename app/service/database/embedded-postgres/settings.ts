/**
 * Settings of the embedded server: small, for one machine and a few processes. Killing processes never damages the data and loses no
 * commit older than 0.6 s (decision 8). `io_method=sync` and the zeros avoid background processes that a small server doesn't need.
 */
const SERVER_SETTINGS = [
  'listen_addresses=',
  'unix_socket_permissions=0700',
  'max_connections=60',
  'superuser_reserved_connections=1',
  'shared_buffers=32MB',
  'huge_pages=off',
  'io_method=sync',
  'jit=off',
  'synchronous_commit=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'max_replication_slots=0',
  'max_logical_replication_workers=0',
  'max_worker_processes=0',
  'max_parallel_workers_per_gather=0',
  'autovacuum_max_workers=1',
  'autovacuum_worker_slots=1',
  'min_wal_size=32MB',
  'max_wal_size=256MB',
  // Recovery would otherwise first fsync every file of the cluster, which takes seconds.
  ...(process.platform === 'linux' ? ['recovery_init_sync_method=syncfs'] : []),
  'timezone=UTC',
  'log_timezone=UTC',
  'log_min_messages=log',
  'log_min_error_statement=panic',
  'log_checkpoints=off',
];

export const SERVER_ARGUMENTS: readonly string[] = SERVER_SETTINGS.flatMap((setting) => ['-c', setting]);

/**
 * Writes an empty message to the write-ahead log and waits until it is on disk. Commits do not wait, so a process waits once before it
 * exits: if the container is killed right afterwards, no stored profile is lost.
 */
export const FLUSH_COMMITS = `select pg_logical_emit_message(false, 'hindsight', '', true)`;

/** Small WAL segments and no fsync: initdb takes a third less time. Locale: bytewise order, Unicode upper and lower case. */
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
