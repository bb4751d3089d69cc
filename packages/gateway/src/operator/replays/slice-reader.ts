import { keyUnknown, recordAltered } from '@oncehook/kernel/http/error-codes'
import { type BodySource, withBody } from '../../inbox/bodies.ts'
import type { EventDocument } from '../../inbox/event-document.ts'
import { isBodyGone } from '../../inbox/retention/is-body-gone.ts'
import type { ReverifyDeps } from '../events/reverify-event.ts'
import { type DeliveryRead, pickEvent, type RemapResult, readDelivery, remap } from './remap.ts'

/**
 * Creates the reader of one slice of a replay. Events of one delivery follow each other: their body is fetched, checked
 * and parsed once, and only one body is kept.
 * @throws MongoError if a body cannot be fetched
 */
export function createSliceReader(
  source: BodySource,
  deps: ReverifyDeps,
): (record: EventDocument) => Promise<RemapResult> {
  let last: { readonly key: string; readonly read: DeliveryRead } | undefined
  return async (stored) => {
    if (stored.bodyId === undefined) {
      const record = await readStored(source, stored)
      return 'failure' in record ? record : remap(record, deps)
    }
    const key = deliveryKeyOf(stored)
    if (last?.key !== key) {
      const record = await readStored(source, stored)
      last = { key, read: 'failure' in record ? record : await readDelivery(record, deps) }
    }
    const { read } = last
    // Forgotten, so that the next event asks the provider again.
    if (isUnavailable(read)) last = undefined
    return pickEvent(read, stored)
  }
}

async function readStored(
  source: BodySource,
  stored: EventDocument,
): Promise<EventDocument | { readonly failure: string }> {
  try {
    const record = await withBody(source, stored)
    return isBodyGone(record) ? { failure: 'body_expired' } : record
  } catch (error) {
    if (keyUnknown.is(error) || recordAltered.is(error)) return { failure: error.code }
    throw error
  }
}

/** Everything that checking and reading depend on. The times of receipt differ by milliseconds within one delivery. */
function deliveryKeyOf({ provider, bodyId, requestId, headers, query }: EventDocument): string {
  return JSON.stringify([provider, bodyId, requestId, headers, query])
}

function isUnavailable(read: DeliveryRead): boolean {
  return 'answers' in read && read.answers.some((answer) => 'refused' in answer && answer.refused === 'unavailable')
}
