import { orderInFreeFields } from '../../events/free-fields.ts'
import { readStrictObject } from '../../events/read-event.ts'

/**
 * The order that the metadata of a Mollie object names; undefined if it names none. Mollie returns metadata as it was sent:
 * an object, or text, which is often the JSON of an object.
 */
export function orderInMetadata(metadata: unknown): string | undefined {
  return orderInFreeFields(freeFieldsOf(metadata))
}

function freeFieldsOf(metadata: unknown): unknown {
  if (typeof metadata !== 'string' || !metadata.startsWith('{')) return metadata
  try {
    return readStrictObject(Buffer.from(metadata), true)
  } catch {
    return undefined
  }
}
