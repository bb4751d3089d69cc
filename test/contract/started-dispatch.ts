import { createHmac } from 'node:crypto'
import type { EventDocument } from '@oncehook/gateway/inbox/event-document'
import { type RunningGateway, startGateway } from '@oncehook/gateway/testing/start-gateway'
import { newServiceKeyPair } from '@oncehook/kernel/testing/service-key-pair'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { EVENTS, SETTLED_STATES } from '@oncehook/queue/task'
import { until } from '../support/until.ts'
import { TYPE } from './sample-task.ts'

/** What a provider delivers. */
export interface Delivery {
  readonly provider: keyof typeof PROVIDERS
  readonly body: string
}

/** What has become of a task. */
export interface TriedTask {
  readonly handler: string
  readonly state: string
  /** Why it is dead. */
  readonly reason: string | null
  /** The code of each attempt. Null: it was done. */
  readonly codes: readonly (string | null)[]
  /** What is stored of the last attempt. */
  readonly message: string | null
  /** How long it waits after its last attempt. */
  readonly waitsMs: number
  /** Whether its handler counts as unreachable. */
  readonly isAway: boolean
}

/** What gateways that are started as in production make of deliveries for handlers, which call `http://127.0.0.1`. */
interface StartedDispatch extends AsyncDisposable {
  /** Verifies the tokens of the calls. */
  readonly publicKey: string
  /**
   * Stores the deliveries, then starts a gateway with these entries of `HANDLERS`, which sends all tasks that are due together.
   * Resolves when each task has had its number of attempts, or has no other soon, and the gateway has ended.
   */
  send(handlers: object, deliveries: readonly Delivery[], attempts?: readonly number[]): Promise<readonly TriedTask[]>
}

const PROVIDER_SECRET = 'the secret of a provider in a test of contracts'
const secret = { id: 'only', value: PROVIDER_SECRET }
const PROVIDERS = {
  stripe: { scheme: 'hmac', header: 'x-signature', effects: [], secrets: [secret] },
  github: { scheme: 'github', secrets: [secret], events: { 'issue_comment.created': TYPE } },
  gocardless: { scheme: 'gocardless', secrets: [secret] },
}
const HOUR_MS = 3_600_000
const LONG_MS = 10_000
const EVENTS_OF_ALL = [{ types: ['*'] }]

/** Opens the database of the gateways. A task that fails waits for an hour at most, unless its handler says when. */
export async function openStartedDispatch(): Promise<StartedDispatch> {
  const stack = new AsyncDisposableStack()
  const database = stack.use(await testDatabase(process.env))
  const keys = newServiceKeyPair()
  const start = (handlers: object): Promise<RunningGateway> => {
    const entries = Object.entries(handlers).map(([name, entry]) => [name, { events: EVENTS_OF_ALL, ...entry }])
    const waits = { RETRY_BASE_MS: String(HOUR_MS), RETRY_CAP_MS: String(HOUR_MS) }
    const settings = { ...waits, HANDLERS: JSON.stringify(Object.fromEntries(entries)) }
    return startGateway({ database, keys, providers: PROVIDERS, settings })
  }
  const inboxes = new Map<string, RunningGateway>()
  /** A gateway that stores tasks of these handlers, and sends none. */
  const inboxOf = async (names: readonly string[]): Promise<RunningGateway> => {
    const paused = names.map((name) => [name, { trpc: 'http://127.0.0.1:1', paused: true }])
    const inbox = inboxes.get(names.join()) ?? stack.use(await start(Object.fromEntries(paused)))
    inboxes.set(names.join(), inbox)
    return inbox
  }
  const records = database.db.collection<EventDocument>(EVENTS)
  return {
    publicKey: keys.publicKey,
    async send(handlers, deliveries, attempts = []) {
      const inbox = await inboxOf(Object.keys(handlers))
      for (const delivery of deliveries) await deliver(inbox.url, delivery)
      const gateway = await start(handlers)
      const isTried = (all: readonly EventDocument[]): boolean =>
        all.length > 0 && all.every((one, index) => isOver(one) || one.attempts.length >= (attempts[index] ?? 1))
      const away = () => gateway.logs.filter(({ msg }) => msg === 'handler.unreachable').map(({ handler }) => handler)
      try {
        const tried = await until(() => records.find().sort({ _id: 1 }).toArray(), isTried)
        return tried.map((record) => toTried(record, away()))
      } finally {
        await gateway.close()
        // The next gateway would send what waits.
        await records.deleteMany()
      }
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** Delivers as the provider does. Each of them signs the body with an HMAC. */
async function deliver(url: string, { provider, body }: Delivery): Promise<void> {
  const mac = createHmac('sha256', PROVIDER_SECRET).update(body).digest('hex')
  const signature = { 'x-signature': mac, 'webhook-signature': mac, 'x-hub-signature-256': `sha256=${mac}` }
  const type = provider === 'github' ? 'application/x-www-form-urlencoded' : 'application/json'
  const headers = { ...signature, 'content-type': type, 'x-github-event': 'issue_comment' }
  const { status } = await fetch(`${url}/api/webhooks/${provider}`, { method: 'POST', headers, body })
  if (status !== 200) throw new Error(`The gateway answered ${status} to a delivery of ${provider}`)
}

/** Whether a task is tried no more, or only when nobody waits for it. */
function isOver({ state, attempts, dueAt }: EventDocument): boolean {
  const waitsMs = Number(dueAt) - Number(attempts.at(-1)?.at)
  return (SETTLED_STATES as readonly string[]).includes(state) || (state === 'pending' && waitsMs > LONG_MS)
}

function toTried({ handler, state, reason, attempts, dueAt }: EventDocument, away: readonly unknown[]): TriedTask {
  const waitsMs = Number(dueAt) - Number(attempts.at(-1)?.at)
  const [codes, message] = [attempts.map(({ code }) => code), attempts.at(-1)?.message ?? null]
  return { handler, state, reason, codes, message, waitsMs, isAway: away.includes(handler) }
}
