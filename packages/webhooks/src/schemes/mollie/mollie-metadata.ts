import { orderInFreeFields } from '../../events/free-fields.ts'
import { readStrictObject } from '../../events/read-event.ts'

/**
 * The order that the metadata of one of Mollie's objects names. Mollie gives metadata back as it was sent: an object, or
 * text that often is the JSON of one. Undefined where it names none.
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
