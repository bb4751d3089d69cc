import type { Claim, SettledClaim } from '@oncehook/queue/claim/claim'
import type { Claims } from '@oncehook/queue/claim/claims'
import type { Sent } from '@oncehook/queue/dispatch/send'
import { EVENTS } from '@oncehook/queue/task'
import type { Db, Document } from 'mongodb'
import type { EventDocument } from '../../inbox/event-document.ts'
import type { Inbox, Recorded } from '../../inbox/inbox.ts'
import type { Recording } from '../../start/gateway-context.ts'

/** An event in a step: its id, and what the step says about it. */
export interface EventOfStep {
  readonly id: string
  /** The number of the claim. For an insert 1 if the new record is claimed, otherwise 0. */
  readonly starts?: number
  /** The result of an attempt: an outcome of fulfilment, `later` or `never`. */
  readonly result?: string
  /** Of an insert: whether it stored the event, or a record was there. Of a settlement: whether its claim was lost. */
  readonly verdict?: 'stored' | 'duplicate' | 'unknown' | 'lost' | 'kept'
}

/** The names of the steps that are recorded. */
export type StepName = 'insert' | 'answer' | 'claim' | 'takeover' | 'call' | 'settle' | 'release'

/** What is recorded when a step begins, and again when it ends. */
export interface StepNote {
  /** Of an insert that begins: the write concern of its command. */
  readonly concern?: string
  /** Of an insert that ends: whether the write concern was met. */
  readonly isMet?: boolean
  readonly events: readonly EventOfStep[]
}

/** Records that a step begins, and returns what records its end. A step that fails, or whose process dies, has no end. */
export type BeginStep = (step: StepName, begun: StepNote) => (ended: StepNote) => void

/** Creates a recording of a gateway: its steps are recorded as they begin and as they end. */
export function recordSteps(begin: BeginStep): Recording {
  return {
    inserts: (db) => recordInserts(db, begin),
    answers: (inbox) => recordAnswers(inbox, begin),
    claims: (claims) => recordClaims(claims, begin),
    calls: (send) => async (batch) => {
      const end = begin('call', { events: batch.map(toHeld) })
      const sent = await send(batch)
      end({ events: resultsOf(sent).map(toResult) })
      return sent
    },
  }
}

/** Taken from the command and from its reply, and not from what the gateway makes of them. */
function recordInserts(db: Db, begin: BeginStep): Db {
  return new Proxy(db, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (name !== 'command' || typeof value !== 'function') return value
      return async (command: Document, ...rest: unknown[]): Promise<unknown> => {
        if (command.insert !== EVENTS) return Reflect.apply(value, target, [command, ...rest])
        const documents: readonly EventDocument[] = command.documents
        const events = documents.map(({ eventId, starts }) => ({ id: eventId, starts }))
        const end = begin('insert', { concern: String(command.writeConcern?.w), events })
        const reply: Document = await Reflect.apply(value, target, [command, ...rest])
        end({ isMet: reply.writeConcernError === undefined, events: withVerdicts(events, reply) })
        return reply
      }
    },
  })
}

const DUPLICATE_KEY = 11_000

function withVerdicts(events: readonly EventOfStep[], { writeErrors = [] }: Document): EventOfStep[] {
  const refused = new Map<number, number>()
  for (const { index, code } of writeErrors) refused.set(index, code)
  return events.map((event, index) => {
    const code = refused.get(index)
    return { ...event, verdict: code === undefined ? 'stored' : code === DUPLICATE_KEY ? 'duplicate' : 'unknown' }
  })
}

function recordAnswers(inbox: Inbox, begin: BeginStep): Inbox {
  const note = (id: string, recorded: Recorded): Recorded => {
    begin('answer', { events: [{ id, verdict: recorded === 'not_stored' ? 'unknown' : 'stored' }] })
    return recorded
  }
  return {
    get waiting() {
      return inbox.waiting
    },
    record: async (arrival) => note(arrival.event.id, await inbox.record(arrival)),
    async recordBatch(arrival) {
      const recorded = await inbox.recordBatch(arrival)
      for (const [index, { event }] of arrival.offers.entries()) note(event.id, recorded[index] ?? 'not_stored')
      return recorded
    },
  }
}

function recordClaims(claims: Claims, begin: BeginStep): Claims {
  return {
    ...claims,
    async claimDue(limit, isExpected) {
      const end = begin('claim', { events: [] })
      const taken = await claims.claimDue(limit, isExpected)
      end({ events: taken.map(toHeld) })
      return taken
    },
    async claimSuspects(verdictAt, limit) {
      const end = begin('takeover', { events: [] })
      const found = await claims.claimSuspects(verdictAt, limit)
      end({ events: found.claims.map(toHeld) })
      return found
    },
    async settle(settled) {
      const end = begin('settle', { events: settled.map(toResult) })
      const lost = await claims.settle(settled)
      end({ events: settled.map((one) => ({ ...toResult(one), verdict: lost.includes(one) ? 'lost' : 'kept' })) })
      return lost
    },
    async release(released) {
      if (released.length === 0) return
      const end = begin('release', { events: released.map(toHeld) })
      await claims.release(released)
      end({ events: released.map(toHeld) })
    },
  }
}

function toHeld({ eventId, starts }: Claim): EventOfStep {
  return { id: eventId, starts }
}

function resultsOf({ settled, failure }: Sent): readonly SettledClaim[] {
  return [...settled, ...(failure?.putOff ?? [])]
}

function toResult({ claim, settlement }: SettledClaim): EventOfStep {
  return { ...toHeld(claim), result: resultOf(settlement) }
}

function resultOf(settlement: SettledClaim['settlement']): string {
  if (settlement.state === 'done') return settlement.outcome.kind
  return settlement.state === 'pending' ? 'later' : 'never'
}
