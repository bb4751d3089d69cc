import type { Collection, Document, FindCursor } from 'mongodb'
import { PAYMENTS } from '../../payments/guard/payment-reservation.ts'
import type { RecordedCall } from './record-calls.ts'

/** Records the reads of a collection: the order of the event, another order, or the reservation of its payment. */
export function recordFinds(collection: Collection, recorded: RecordedCall): Collection {
  return new Proxy(collection, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (name !== 'find') return value.bind(target)
      return (filter: Document, options: Document) => {
        const concern = String(options.readConcern)
        const step = stepOf(collection, filter, recorded)
        return recordCursor(target.find(filter, options), { ...recorded, step, concern })
      }
    },
  })
}

function stepOf({ collectionName }: Collection, filter: Document, { orderId }: RecordedCall): RecordedFind['step'] {
  if (collectionName === PAYMENTS) return 'decide'
  return JSON.stringify(filter).includes(JSON.stringify(orderId)) ? 'read' : 'look'
}

interface RecordedFind extends RecordedCall {
  readonly step: 'read' | 'decide' | 'look'
  readonly concern: string
}

function recordCursor(cursor: FindCursor, find: RecordedFind): FindCursor {
  const proxy: FindCursor = new Proxy(cursor, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (name === 'toArray') return () => recordRead(target, find)
      return (...given: unknown[]): unknown => {
        const returned: unknown = Reflect.apply(value, target, given)
        return returned === target ? proxy : returned
      }
    },
  })
  return proxy
}

async function recordRead(cursor: FindCursor, { begin, step, call, id, concern }: RecordedFind): Promise<Document[]> {
  const end = begin(step, { call, concern, events: [{ id }] })
  const found: Document[] = await cursor.toArray()
  const { version = -1, applied = [] } = found[0] ?? {}
  const isApplied = (applied as readonly Document[]).some(({ eventId }) => eventId === id)
  end({ call, events: [{ id, version, isApplied }] })
  return found
}
