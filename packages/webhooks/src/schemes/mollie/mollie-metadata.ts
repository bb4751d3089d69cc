import { readJsonObject } from '../../events/json-object.ts'
import { orderInMetadata } from '../../events/metadata.ts'

/**
 * The order that the metadata of a Mollie object names; undefined if it names none. Mollie returns metadata as it was sent:
 * an object, or text, which is often the JSON of an object.
 */
export function orderOfMollie(metadata: unknown): string | undefined {
  return orderInMetadata(typeof metadata === 'string' ? parse(metadata) : metadata)
}

function parse(text: string): unknown {
  try {
    return text.startsWith('{') ? readJsonObject(Buffer.from(text)) : undefined
  } catch {
    return undefined
  }
}
