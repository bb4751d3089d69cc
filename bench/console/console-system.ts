import { randomBytes } from 'node:crypto'
import { EVENTS, type EventDocument } from '@oncehook/gateway/inbox/event-document'
import { z } from 'zod'
import { type Sender, startSender } from '../load/sender.ts'
import { describeSystem } from '../receivers/oncehook/describe-system.ts'
import { fillStored } from '../receivers/oncehook/fill-stored.ts'
import { insertOrders } from '../receivers/oncehook/insert-orders.ts'
import { startService } from '../receivers/oncehook/service.ts'
import { settledTemplate } from '../receivers/oncehook/settled-template.ts'
import type { Setup } from '../receivers/receiver.ts'
import { mixedEvent } from './mixed-events.ts'

const RUN = 'console'
const CONNECTIONS = 64
const GRACE_MS = 5_000
const FROM_THE_MIDDLE = 0.5

/** The result of a load on the system. */
export interface Offered {
  readonly accepted: number
  readonly perSecond: number
}

/** A load that is signed and ready to send. */
interface ReadyLoad {
  /** Sends it until it is cut or everything is sent. */
  send(): Promise<Offered>
  cut(): void
}

/** Gateway and fulfilment with a filled store, and a sender. */
export interface ConsoleSystem extends AsyncDisposable {
  readonly adminUrl: string
  /** An event in the middle of the store. */
  readonly known: EventDocument
  /** A link that signs in once. */
  signInLink(): Promise<string>
  /** Creates the orders and signs the deliveries of a load of this many seconds. */
  prepare(perSecond: number, seconds: number): Promise<ReadyLoad>
}

/** Starts the system and stores this many settled events of the last 80 days, as the gateway would store them. */
export async function startConsoleSystem(
  setup: Setup,
  { events, signal }: { readonly events: number; readonly signal: AbortSignal },
): Promise<ConsoleSystem> {
  await using stack = new AsyncDisposableStack()
  const template = await settledTemplate(setup, { run: `${RUN}-template`, signal })
  const { gateway, fulfilment, gatewayDb, fulfilmentDb, url } = await describeSystem(setup, RUN)
  const token = randomBytes(24).toString('hex')
  const db = setup.database(gatewayDb)
  stack.use(await startService(fulfilment))
  const env = { ...gateway.env, OPERATOR_TOKENS: JSON.stringify({ bench: token }) }
  stack.use(await startService({ ...gateway, env }))
  const sender = stack.use(await startSender(signal))
  const change = (event: EventDocument, index: number) => mixedEvent(event, { index, count: events })
  await fillStored(db, { template, count: events, change })
  // Flush what filling has left to write, so that it does not disturb a measurement.
  await setup.database('admin').command({ fsync: 1 })
  const adminUrl = `http://127.0.0.1:${gateway.env.ADMIN_PORT}`
  const middle = { orderId: `order-${Math.floor(events * FROM_THE_MIDDLE)}` }
  const known = await db.collection<EventDocument>(EVENTS).findOne({ ...middle, state: { $ne: 'pending' } })
  if (known === null) throw new Error('The events to begin with are not stored')
  let loads = 0
  const owned = stack.move()
  return {
    ...{ adminUrl, known },
    signInLink: async () => `${adminUrl}/sign-in#${await createCode(adminUrl, token)}`,
    async prepare(perSecond, seconds) {
      loads += 1
      const orderPrefix = `${RUN}-${loads}-`
      const count = perSecond * seconds
      await insertOrders(setup.database(fulfilmentDb), orderPrefix, count)
      await sender.sign({ url, secret: setup.secret, count, mix: 'unique', orderPrefix })
      return { send: () => send(sender, perSecond), cut: () => sender.cut() }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

async function send(sender: Sender, perSecond: number): Promise<Offered> {
  if (perSecond === 0) return { accepted: 0, perSecond: 0 }
  const report = await sender.send({ kind: 'open', connections: CONNECTIONS, perSecond, graceMs: GRACE_MS })
  const accepted = report.acknowledged.length
  return { accepted, perSecond: accepted / ((report.endedAt - report.beganAt) / 1_000) }
}

const createdCode = z.object({ result: z.object({ data: z.object({ code: z.string() }) }) })

async function createCode(adminUrl: string, token: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(`${adminUrl}/operator/signIn.createCode`, { method: 'POST', headers, body: '{}' })
  if (!answer.ok) throw new Error(`The gateway made no link: ${answer.status}`)
  return createdCode.parse(await answer.json()).result.data.code
}
