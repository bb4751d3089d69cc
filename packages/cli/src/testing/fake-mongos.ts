import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { BSON, type Document } from 'mongodb'

/** What answers like a mongos in front of a node. */
export interface FakeMongos extends AsyncDisposable {
  readonly uri: string
  /** The administrative commands that it got, without what the driver adds. */
  readonly commands: Document[]
}

const HEADER_BYTES = 16
const OP_MSG = 2013
const OP_REPLY = 1
// Offset of the document in a message: after the flags and the section kind, or after the header of a legacy reply.
const DOCUMENT_AT: Readonly<Record<number, number>> = { [OP_REPLY]: 36, [OP_MSG]: 21 }
const OF_A_MEMBER = ['setName', 'hosts', 'primary', 'me', 'setVersion', 'electionId', 'lastWrite', 'topologyVersion']
const FROM_THE_DRIVER = ['lsid', '$db', '$clusterTime', '$readPreference', 'writeConcern', 'txnNumber']

/**
 * Starts a proxy in front of a loopback port. It behaves like a mongos of a cluster with two shards. It answers the
 * commands of a sharded cluster, and the reads of its metadata, from memory. The node answers everything else.
 */
export async function startFakeMongos(port: number): Promise<FakeMongos> {
  const commands: Document[] = []
  const cluster = createCluster(commands)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    eachMessage(client, (message) => {
      const answer = answerOf(cluster, message)
      if (answer === null) upstream.write(message)
      else client.write(answer)
    })
    eachMessage(upstream, (message) => client.write(asMongos(message)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The fake mongos has no port')
  return {
    uri: `mongodb://127.0.0.1:${address.port}/`,
    commands,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

function eachMessage(socket: Socket, take: (message: Buffer) => void): void {
  let pending = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    pending = Buffer.concat([pending, chunk])
    while (pending.length >= HEADER_BYTES && pending.length >= pending.readInt32LE(0)) {
      const size = pending.readInt32LE(0)
      take(pending.subarray(0, size))
      pending = pending.subarray(size)
    }
  })
}

/** The answer to a command, or null if the node answers it. */
type Cluster = (command: Document) => Document | null

function createCluster(commands: Document[]): Cluster {
  const collections: Document[] = []
  const chunks: Document[] = []
  const change = (command: Document): Document => {
    const { shardCollection, key, split, middle } = command
    commands.push(Object.fromEntries(Object.entries(command).filter(([name]) => !FROM_THE_DRIVER.includes(name))))
    if (split === undefined) collections.push({ _id: shardCollection, key, uuid: shardCollection })
    else chunks.push({ uuid: split, min: middle })
    return { ok: 1 }
  }
  const metadata = ({ find, filter }: Document): Document => {
    const [name = '', value] = Object.entries(filter)[0] ?? []
    const firstBatch = (find === 'chunks' ? chunks : collections).filter((one) => one[name] === value)
    return { cursor: { id: BSON.Long.ZERO, ns: `config.${find}`, firstBatch }, ok: 1 }
  }
  return (command) => {
    if ('listShards' in command) return { shards: [{ _id: 'one' }, { _id: 'two' }], ok: 1 }
    if ('shardCollection' in command || 'split' in command) return change(command)
    return command.$db === 'config' && 'find' in command ? metadata(command) : null
  }
}

function answerOf(cluster: Cluster, message: Buffer): Buffer | null {
  if (message.readInt32LE(12) !== OP_MSG) return null
  const answer = cluster(BSON.deserialize(message.subarray(DOCUMENT_AT[OP_MSG])))
  if (answer === null) return null
  const body = BSON.serialize(answer)
  const head = Buffer.alloc(21)
  head.writeInt32LE(21 + body.length, 0)
  head.writeInt32LE(message.readInt32LE(4), 8)
  head.writeInt32LE(OP_MSG, 12)
  return Buffer.concat([head, body])
}

function asMongos(message: Buffer): Buffer {
  const start = DOCUMENT_AT[message.readInt32LE(12)]
  if (start === undefined) return message
  const reply = BSON.deserialize(message.subarray(start), { promoteValues: false })
  if (!('isWritablePrimary' in reply || 'ismaster' in reply)) return message
  for (const name of OF_A_MEMBER) delete reply[name]
  reply.msg = 'isdbgrid'
  const body = BSON.serialize(reply)
  const head = Buffer.from(message.subarray(0, start))
  head.writeInt32LE(start + body.length, 0)
  return Buffer.concat([head, body])
}
