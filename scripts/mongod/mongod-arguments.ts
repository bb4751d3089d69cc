/** The data folder and the port of a private server. */
export interface PrivateMongod {
  readonly dbPath: string
  readonly port: number
}

/** The name of the replica set on every private server. */
export const REPLICA_SET = 'rs0'

/**
 * The flags of a private server for measurements, besides its data folder and port. It uses little memory, has an
 * ordinary journal, and uses no zlib between client and server.
 */
export const MEASURED_SERVER: readonly string[] = [
  '--quiet',
  ...['--wiredTigerCacheSizeGB', '0.25'],
  ...['--oplogSize', '64'],
  ...['--networkMessageCompressors', 'snappy,zstd'],
  ...['--setParameter', 'diagnosticDataCollectionEnabled=false'],
]

/**
 * The flags of every other private server, which also uses little disk space. If it runs directly on this machine,
 * flags for loopback are added.
 */
export const SMALL_SERVER: readonly string[] = [
  ...MEASURED_SERVER,
  // 17 MiB on disk instead of 301: journal files are not created in advance, and each is smaller than 100 MB.
  ...['--wiredTigerEngineConfigString', 'log=(prealloc=false,file_max=16MB)'],
]

/**
 * What a server of tests does at once. To drop a database waits for the journal, by default up to 100 ms. Dropped data
 * would be kept for five minutes, for reads of the past.
 */
export const QUICK_SERVER: readonly string[] = [
  ...['--journalCommitInterval', '5'],
  ...['--setParameter', 'minSnapshotHistoryWindowInSeconds=0'],
]

/** Lets tests set fail points; never for a server that keeps data. */
export const TEST_COMMANDS: readonly string[] = ['--setParameter', 'enableTestCommands=1']

/**
 * The whole command line of a private server that keeps data. It listens on loopback only and is a replica set of one.
 */
export function mongodArguments({ dbPath, port }: PrivateMongod): string[] {
  const place = ['--dbpath', dbPath, '--port', String(port), '--bind_ip', '127.0.0.1', '--nounixsocket']
  return [...place, '--replSet', REPLICA_SET, ...SMALL_SERVER]
}
