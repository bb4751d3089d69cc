import { randomBytes } from 'node:crypto'
import { stablePort } from '../../../scripts/ports/stable-port.ts'
import { startAcceptingFor } from '../oncehook/oncehook-accepting.ts'
import type { StartReceiver } from '../receiver.ts'

/** A secret of Standard Webhooks. */
export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}

/** The description of a handler that wants every event. */
export function describeHandler(port: number, secret: string): object {
  const secrets = [{ id: 'bench', value: secret }]
  return { https: `http://127.0.0.1:${port}/webhooks`, secrets, events: [{ types: ['*'] }] }
}

/** Starts the gateway alone, with this number of handlers that want every event. All are unavailable, so every task waits. */
export function acceptingFor(count: number): StartReceiver {
  return async (setup, run) => {
    const port = await stablePort()
    const names = Array.from({ length: count }, (_, index) => `handler-${index + 1}`)
    const handlers = Object.fromEntries(names.map((name) => [name, describeHandler(port, newSecret())]))
    return startAcceptingFor(setup, run, handlers)
  }
}
