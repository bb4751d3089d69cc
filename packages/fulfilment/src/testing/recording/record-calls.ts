import type { Db, Document } from 'mongodb'
import { ORDERS } from '../../orders/stored/order-document.ts'
import type { ApplyResult } from '../../payments/decide-order.ts'
import type { Recording } from '../../router.ts'
import { recordFinds } from './record-finds.ts'

/** What a step says about the event of its call. */
export interface EventOfCall {
  readonly id: string
  /** Of a read: the version that was found, or -1. Of a write: the version that it names, or -1. */
  readonly version?: number
  /** Of a read of the order: whether it has a marker of the event. */
  readonly isApplied?: boolean
  /** Of an update of the order: the outcome that it notes. Of an answer: the outcome, `again`, `later` or `never`. */
  readonly result?: string
  /** Of a write that ends: whether it has changed anything. */
  readonly verdict?: 'changed' | 'unchanged'
}

export type CallStepName = 'read' | 'write' | 'reply'

/** What is recorded when a step begins, and again when it ends. */
interface CallNote {
  readonly call: number
  /** Of a step that begins: its read concern or its write concern. */
  readonly concern?: string
  readonly events: readonly [EventOfCall]
}

/** Records that a step begins, and returns what records its end. A step that fails, or whose process dies, has no end. */
export type BeginCallStep = (step: CallStepName, begun: CallNote) => (ended: CallNote) => void

/** Creates a recording of fulfilment: the steps of each call are recorded as they begin and as they end. */
export function recordCalls(begin: BeginCallStep): Recording {
  let calls = 0
  return {
    calls: (apply) => async (deps, events) => {
      const [event, ...others] = events
      if (event === undefined || others.length > 0) throw new Error('A recorded call carries one event')
      calls += 1
      const recorded = { begin, call: calls, id: event.eventId }
      const results = await apply({ ...deps, db: recordDatabase(deps.db, recorded) }, events)
      begin('reply', { call: recorded.call, events: [{ id: event.eventId, result: resultOf(results[0]) }] })
      return results
    },
  }
}

function resultOf(result: ApplyResult | undefined): string {
  if (result === undefined) return 'later'
  if ('outcome' in result) return result.outcome
  return result.retry === 'now' ? 'again' : result.retry
}

export interface RecordedCall {
  readonly begin: BeginCallStep
  readonly call: number
  /** The id of its event. */
  readonly id: string
}

function recordDatabase(db: Db, recorded: RecordedCall): Db {
  return new Proxy(db, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (name === 'collection') return (collection: string) => recordFinds(target.collection(collection), recorded)
      if (name === 'command') return (command: Document) => recordCommand(target, command, recorded)
      return value.bind(target)
    },
  })
}

/** Taken from the command and from its reply, and not from what fulfilment makes of them. */
async function recordCommand(db: Db, command: Document, { begin, call, id }: RecordedCall): Promise<Document> {
  if (command.update !== ORDERS) throw new Error('A call has sent a command that the model does not know')
  const { updates: [update] = [] } = command
  const { applied, paidBy } = update.u.$push
  const [{ outcome }] = paidBy === undefined ? applied.$each : [paidBy.marker]
  const concern = String(command.writeConcern?.w)
  const end = begin('write', { call, concern, events: [{ id, version: update.q.version ?? -1, result: outcome }] })
  const reply = await db.command(command)
  // Without a majority, nobody knows the end.
  if (reply.writeConcernError !== undefined) return reply
  end({ call, events: [{ id, verdict: reply.n === 1 ? 'changed' : 'unchanged' }] })
  return reply
}
