import { hash } from 'node:crypto'

/**
 * The id of an event whose provider names none, or signs none: a hash of the signed bytes. Nobody can change it without the
 * secret, and every delivery of the same bytes has the same id.
 */
export function idOfBytes(signed: Uint8Array): string {
  return `sha256:${hash('sha256', signed, 'base64url')}`
}
