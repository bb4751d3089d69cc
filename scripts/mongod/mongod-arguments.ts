/** Where a private server keeps its data and what it is for. */
export interface PrivateMongod {
  readonly dbPath: string
  readonly port: number
}

/** The replica set's name on every private server. */
export const REPLICA_SET = 'rs0'

/**
 * The flags of a private server that is measured, beside its data folder and port: small on memory, its journal as any
 * server has it, and no zlib between client and server.
 */
export const MEASURED_SERVER: readonly string[] = [
  '--quiet',
  ...['--wiredTigerCacheSizeGB', '0.25'],
  ...['--oplogSize', '64'],
  ...['--networkMessageCompressors', 'snappy,zstd'],
  ...['--setParameter', 'diagnosticDataCollectionEnabled=false'],
]

/** The flags of every other private server: small on disk too. Loopback is added where it runs on this machine itself. */
export const SMALL_SERVER: readonly string[] = [
  ...MEASURED_SERVER,
  // 17 MiB on disk instead of 301: journal files are neither made in advance nor 100 MB each.
  ...['--wiredTigerEngineConfigString', 'log=(prealloc=false,file_max=16MB)'],
]

/** Lets tests set fail points; never for a server that keeps data. */
export const TEST_COMMANDS: readonly string[] = ['--setParameter', 'enableTestCommands=1']

/** The whole command line of a private server that keeps data: loopback only, a replica set of one. */
export function mongodArguments({ dbPath, port }: PrivateMongod): string[] {
  const place = ['--dbpath', dbPath, '--port', String(port), '--bind_ip', '127.0.0.1', '--nounixsocket']
  return [...place, '--replSet', REPLICA_SET, ...SMALL_SERVER]
}
