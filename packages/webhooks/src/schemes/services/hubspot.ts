import { HUBSPOT } from '../../presets/services.ts'
import { presetScheme } from '../preset-scheme.ts'

const asWritten = presetScheme(HUBSPOT)

/**
 * HubSpot signs its URL with some characters decoded. Its own library signs the URL as it is written: both are accepted. No
 * delivery fits both: where they differ first, one has a percent sign and the other has none.
 */
export const hubspot = presetScheme(HUBSPOT, {
  prepare(settings, secrets) {
    const { publicUrl = '' } = settings
    const checks = [...new Set([decoded(publicUrl), publicUrl])].map((url) => {
      const signed = { ...settings, scheme: HUBSPOT.name, publicUrl: url }
      return asWritten.prepare(signed, secrets)
    })
    return (...delivery) => {
      const results = checks.map((check) => check(...delivery))
      return results.find((result) => 'secretId' in result) ?? results[0] ?? { refused: 'signature_mismatch' }
    }
  },
})

const DECODED: ReadonlyMap<string, string> = new Map(
  [...":/?@!$'()*,;"].map((one) => [`%${one.charCodeAt(0).toString(16).toUpperCase()}`, one]),
)

function decoded(url: string): string {
  return url.replace(/%[0-9A-Fa-f]{2}/g, (code) => DECODED.get(code.toUpperCase()) ?? code)
}
