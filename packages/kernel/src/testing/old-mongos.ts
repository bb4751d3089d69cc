import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { BSON, type Document } from 'mongodb'

/** A proxy that makes a node behave like a mongos older than 7.1. */
export interface OldMongos extends AsyncDisposable {
  readonly port: number
}

const HEADER_BYTES = 16
const OP_REPLY = 1
// Offset of the document in a message: after the flags and the section kind, or after the header of a legacy reply.
const DOCUMENT_AT: Readonly<Record<number, number>> = { [OP_REPLY]: 36, 2013: 21 }
const OF_A_MEMBER = ['setName', 'hosts', 'primary', 'me', 'setVersion', 'electionId', 'lastWrite', 'topologyVersion']

/**
 * Starts a proxy in front of a loopback port. It claims to be a mongos. It drops the write-concern error from a reply
 * if every statement, or the command, was refused.
 */
export async function startOldMongos(port: number): Promise<OldMongos> {
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
    client.pipe(upstream)
    let pending = Buffer.alloc(0)
    upstream.on('data', (chunk) => {
      pending = Buffer.concat([pending, chunk])
      while (pending.length >= HEADER_BYTES && pending.length >= pending.readInt32LE(0)) {
        const size = pending.readInt32LE(0)
        client.write(rewrite(pending.subarray(0, size)))
        pending = pending.subarray(size)
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as { port: number }).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

function rewrite(message: Buffer): Buffer {
  const start = DOCUMENT_AT[message.readInt32LE(12)]
  if (start === undefined) return message
  const document = BSON.deserialize(message.subarray(start), { promoteValues: false })
  asMongos(document)
  const head = Buffer.from(message.subarray(0, start))
  const body = BSON.serialize(document)
  head.writeInt32LE(start + body.length, 0)
  return Buffer.concat([head, body])
}

function asMongos(reply: Document): void {
  if ('isWritablePrimary' in reply || 'ismaster' in reply) {
    for (const name of OF_A_MEMBER) delete reply[name]
    reply.msg = 'isdbgrid'
  }
  const isRefused = Number(reply.ok) === 0 || (reply.writeErrors !== undefined && Number(reply.n) === 0)
  if (isRefused) delete reply.writeConcernError
}
