import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { SentMessage } from './verify-messages.ts'

/** A call of a handler, as it was sent. */
export interface RelayedCall extends SentMessage {
  /** With its query. */
  readonly path: string
}

interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: object
}

/** How a call is answered: itself, or by the mock of the handler at this address. `index` counts the calls from 0. */
type Answering = (call: RelayedCall, index: number) => Answer | string

/** What the gateway calls instead of a handler. */
interface TaskRelay extends AsyncDisposable {
  readonly url: string
  readonly sent: readonly RelayedCall[]
}

/**
 * Starts what the gateway calls. Of a call for the mock it passes on what a handler reads: the members of a task that it knows
 * (all, if `known` is empty), and those that a later gateway may add.
 */
export async function relayTasks(
  answer: Answering,
  { known = [], added = {} }: { readonly known?: readonly string[]; readonly added?: object } = {},
): Promise<TaskRelay> {
  const sent: RelayedCall[] = []
  const readTask = (task: object): object => ({
    ...added,
    ...Object.fromEntries(Object.entries(task).filter(([name]) => known.length === 0 || known.includes(name))),
  })
  const readCall = (body: string): string => {
    const { handler, events, ...task } = JSON.parse(body)
    return JSON.stringify(events === undefined ? readTask(task) : { handler, events: events.map(readTask) })
  }
  const server = createServer(async (request, response) => {
    const { url: path = '', headers: had } = request
    const headers = new Headers(Object.entries(had).map(([name, value]): [string, string] => [name, String(value)]))
    const call = { path, body: await text(request), headers }
    const said = answer(call, sent.push(call) - 1)
    if (typeof said !== 'string') {
      response.writeHead(said.status, { 'content-type': 'application/json', ...said.headers })
      return void response.end(said.json && JSON.stringify(said.json))
    }
    const passed = Object.fromEntries(
      [...headers].filter(([name]) => !/^(?:connection|content-length|host)$/.test(name)),
    )
    const init = { method: 'POST', headers: passed, body: readCall(call.body), redirect: 'manual' } as const
    const answered = await fetch(new URL(path.replace(/\?.*/, ''), said), init)
    // The verifier of Pact follows a redirect, so its place is in no contract.
    const location = answered.status >= 300 && answered.status < 400 ? { location: '/elsewhere' } : {}
    const given = [...answered.headers].filter(([name]) => /^(?:content-type|retry-after)$/.test(name))
    response.writeHead(answered.status, { ...Object.fromEntries(given), ...location }).end(await answered.text())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    ...{ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sent },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}
