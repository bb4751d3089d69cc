import type { Socket } from 'node:net'

/** A reply that waits in a proxy: the request has had its effect, and its sender does not know. */
export interface HeldReply {
  /** Resolves when the reply has arrived. */
  readonly arrived: Promise<void>
  release(): void
}

/** Which of a proxy's clients waits for a reply that is held. */
export interface HeldReplies {
  /** Holds the reply to the next request that carries a text, and what follows on its connection. */
  hold(marker: string): HeldReply
  /** Call it with every piece of a request. */
  noteRequest(client: Socket, chunk: Buffer): void
  /** What a piece of a reply has to wait for. */
  gateOf(client: Socket): Promise<void> | undefined
}

interface ArmedHold {
  readonly marker: string
  client: Socket | null
  readonly arrived: PromiseWithResolvers<void>
  readonly released: PromiseWithResolvers<void>
}

/** Creates the part of a proxy that holds replies. It holds none yet. */
export function createHeldReplies(): HeldReplies {
  let armed: ArmedHold | null = null
  return {
    hold(marker) {
      const [arrived, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      armed = { marker, client: null, arrived, released }
      return { arrived: arrived.promise, release: () => released.resolve() }
    },
    noteRequest(client, chunk) {
      if (armed?.client === null && chunk.includes(armed.marker)) armed.client = client
    },
    gateOf(client) {
      if (armed?.client !== client) return undefined
      armed.arrived.resolve()
      return armed.released.promise
    },
  }
}
