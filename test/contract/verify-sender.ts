import type { Db } from 'mongodb'
import { expect } from 'vitest'
import type { ContractFile } from './pact-files.ts'
import { verifyContract } from './verify-contract.ts'
import { bytesOf, eventOf, MAX_BYTES, type Signing, type WebhookSender } from './webhook-senders.ts'

const OTHER_SECRET = `whsec_${Buffer.from('a secret of somebody else, 32 by').toString('base64')}`
const NEXT_SECRET = `whsec_${Buffer.from('the next secret of every sender.').toString('base64')}`
const HOUR_MS = 3_600_000

/** The settings of a gateway that knows these senders. */
export function providersOf(senders: readonly WebhookSender[], limit: object = { maxBytes: MAX_BYTES }): object {
  return Object.fromEntries(
    senders.map(({ name, provider, secret }) => {
      const secrets = [secret, NEXT_SECRET].map((value, index) => ({ id: `s${index + 1}`, value }))
      return [name, { ...provider, ...limit, secrets }]
    }),
  )
}

/** What a sender posts about an event. */
export function bodyOf({ signer }: WebhookSender, eventId: string, type: string): Buffer {
  return bytesOf(JSON.parse(Buffer.from(signer.writeEvent(eventOf(eventId, type))).toString()))
}

interface Delivered {
  readonly body: Buffer
  readonly eventId?: string
  /** Null: none. */
  readonly mediaType?: string | null
}

/** Delivers as the sender does. */
export async function deliver(
  url: string,
  sender: WebhookSender,
  { body, eventId = 'msg_1', mediaType = 'application/json' }: Delivered,
): Promise<Response> {
  const signature = sender.sign(body.toString(), { id: eventId, now: Date.now(), secret: sender.secret })
  const headers = { ...(mediaType === null ? {} : { 'content-type': mediaType }), ...signature }
  return await fetch(`${url}/api/webhooks/${sender.name}`, { method: 'POST', headers, body })
}

/** Has MongoDB refuse every new event, or no longer. */
async function refuseToStore(db: Db, isRefused: boolean): Promise<void> {
  await db.command({ collMod: 'events', validator: isRefused ? { eventId: { $exists: false } } : {} })
}

/** Verifies the contract of a sender with a gateway that knows it: its address and its database. */
export async function verifySender(
  contract: ContractFile,
  sender: WebhookSender,
  { url, db }: { readonly url: string; readonly db: Db },
): Promise<void> {
  // Null: nothing is signed. A contract's signature would be too old and for other bytes.
  let signing: (() => Omit<Signing, 'id'>) | null = null
  const signWith = (secret: string, skewMs = 0): void => {
    signing = () => ({ secret, now: Date.now() + skewMs })
  }
  await verifyContract({
    contract,
    url,
    filter: (request) => {
      const body = Buffer.isBuffer(request.body) ? request.body : bytesOf(request.body)
      request.body = body
      request.headers['content-length'] = String(body.length)
      const id = request.headers['webhook-id'] ?? 'msg_1'
      Object.assign(request.headers, signing === null ? {} : sender.sign(body.toString(), { ...signing(), id }))
    },
    states: {
      'the event is not known': async ({ eventId }: { eventId: string }) => {
        signWith(sender.secret)
        await refuseToStore(db, false)
        expect(await db.collection('events').countDocuments({ provider: sender.name, eventId })).toBe(0)
      },
      'the event was delivered before': async ({ eventId, type }: { eventId: string; type: string }) => {
        signWith(sender.secret)
        await refuseToStore(db, false)
        const answer = await deliver(url, sender, { body: bodyOf(sender, eventId, type), eventId })
        if (!answer.ok) throw new Error(`the gateway answered ${answer.status} ${await answer.text()}`)
      },
      'the gateway cannot store events': async () => {
        signWith(sender.secret)
        await refuseToStore(db, true)
      },
      'the sender signs nothing': async () => {
        signing = null
      },
      'the sender uses its next secret': async () => {
        signWith(NEXT_SECRET)
        await refuseToStore(db, false)
      },
      'the sender has another secret': async () => signWith(OTHER_SECRET),
      'the sender signed an hour ago': async () => signWith(sender.secret, -HOUR_MS),
    },
  })
  await refuseToStore(db, false)
}
