import type { Db, Document } from 'mongodb'

/** The commands that a gateway repeats while it has nothing to do. */
export type RepeatedKind = 'poll' | 'holders' | 'owners' | 'heartbeat'

/** One of these commands, and what the server examined for it. */
export interface RepeatedCommand {
  readonly kind: RepeatedKind
  readonly keys: number
  readonly documents: number
  /** The command, to send it again. */
  readonly command: Document
}

interface ProfiledOperation {
  readonly ns: string
  readonly op: string
  readonly command: Document
  readonly keysExamined?: number
  readonly docsExamined?: number
}

/** Reads the newest command of each kind from the profile of a database. */
export async function readRepeated(db: Db): Promise<RepeatedCommand[]> {
  const gateways = { appName: /^oncehook-gateway/ }
  const noted = await db.collection<ProfiledOperation>('system.profile').find(gateways).sort({ ts: 1 }).toArray()
  const newest = new Map<RepeatedKind, RepeatedCommand>()
  for (const { ns, op, command, keysExamined = 0, docsExamined = 0 } of noted) {
    const kind = kindOf(ns.slice(db.databaseName.length + 1), op, command)
    if (kind === null) continue
    const again = kind === 'heartbeat' ? { update: 'owners', updates: [command] } : withoutSession(command)
    newest.set(kind, { kind, keys: keysExamined, documents: docsExamined, command: again })
  }
  return [...newest.values()]
}

/** Which of the repeated commands an operation on a collection is. */
export function kindOf(collection: string, op: string, command: Document): RepeatedKind | null {
  if (collection === 'owners') return op === 'update' ? 'heartbeat' : op === 'query' ? 'owners' : null
  if (collection !== 'events') return null
  if (command.aggregate !== undefined && command.pipeline?.[0]?.$match?.state === 'processing') return 'holders'
  return command.filter?.state === 'pending' || command.pipeline?.[0]?.$match?.state === 'pending' ? 'poll' : null
}

/** What the server needs to execute a command again, without what belongs to the session that sent it first. */
function withoutSession({ lsid: _, $db: __, $clusterTime: ___, txnNumber: ____, ...command }: Document): Document {
  return command
}
