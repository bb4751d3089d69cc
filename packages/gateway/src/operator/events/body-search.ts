import { keyUnknown, recordAltered } from '@oncehook/kernel/http/error-codes'
import { Binary } from 'mongodb'
import { type BodySource, withBody } from '../../inbox/bodies.ts'
import type { EventDocument } from '../../inbox/event-document.ts'
import { withGone } from '../../inbox/key-only-record.ts'

/** A search for a text in bodies. */
export interface BodySearch {
  /**
   * Whether the body of a record contains the text, literally or as JSON or a form encodes it. Case-sensitive. A body
   * that has been removed contains nothing.
   */
  readonly matches: (record: EventDocument) => Promise<boolean>
  /** How many bodies could not be read so far, because their key is gone or because they were altered. */
  readonly notReadable: number
}

/** Creates a search for a text. A body that several events share is fetched once. */
export function createBodySearch(source: BodySource, text: string): BodySearch {
  const forms = writtenForms(text).map((form) => Buffer.from(form))
  const shared = new Map<string, boolean>()
  let notReadable = 0
  const search = async (record: EventDocument): Promise<boolean> => {
    try {
      const { raw } = await withBody(source, withGone(record))
      // Other software may have written anything.
      if (!(raw instanceof Binary)) return false
      const { buffer, byteOffset, length } = raw.value()
      const body = Buffer.from(buffer, byteOffset, length)
      return forms.some((form) => body.includes(form))
    } catch (error) {
      if (!keyUnknown.is(error) && !recordAltered.is(error)) throw error
      notReadable += 1
      return false
    }
  }
  return {
    async matches(record) {
      if (record.bodyId === undefined) return search(record)
      const known = shared.get(record.bodyId)
      if (known !== undefined) return known
      const found = await search(record)
      shared.set(record.bodyId, found)
      return found
    },
    get notReadable() {
      return notReadable
    },
  }
}

const hex = (character: string): string => character.charCodeAt(0).toString(16).padStart(4, '0')

/** The forms in which usual software writes a text into a body. For plain letters and digits there is only one. */
function writtenForms(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1)
  const escaped = (which: RegExp, toHex: (character: string) => string): string =>
    json.replace(which, (character) => `\\u${toHex(character)}`)
  const inJson = [
    json,
    escaped(/[^\0-\x7f]/g, hex),
    escaped(/[^\0-\x7f]/g, (character) => hex(character).toUpperCase()),
    escaped(/[<>&]/g, hex),
  ]
  const inForm = new URLSearchParams([['', text]]).toString().slice(1)
  return [...new Set([text, ...inJson, ...inJson.map((form) => form.replaceAll('/', '\\/')), inForm])]
}
