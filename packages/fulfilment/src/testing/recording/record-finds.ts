import type { Collection, Document, FindCursor } from 'mongodb'
import type { RecordedCall } from './record-calls.ts'

/** Records the reads of a collection: those of the order of the event. */
export function recordFinds(collection: Collection, recorded: RecordedCall): Collection {
  return new Proxy(collection, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (name !== 'find') return value.bind(target)
      return (filter: Document, options: Document) => {
        const concern = String(options.readConcern)
        return recordCursor(target.find(filter, options), { ...recorded, concern })
      }
    },
  })
}

interface RecordedFind extends RecordedCall {
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

async function recordRead(cursor: FindCursor, { begin, call, id, concern }: RecordedFind): Promise<Document[]> {
  const end = begin('read', { call, concern, events: [{ id }] })
  const found: Document[] = await cursor.toArray()
  const { version = -1, applied = [], paidBy = [] } = found[0] ?? {}
  const markers: readonly Document[] = [...applied, ...paidBy.map(({ marker }: Document) => marker)]
  const isApplied = markers.some(({ eventId }) => eventId === id)
  end({ call, events: [{ id, version, isApplied }] })
  return found
}
