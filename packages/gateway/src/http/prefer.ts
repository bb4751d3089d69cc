const PREFERENCE = /^[ \t]*return[ \t]*=[ \t]*(?:"(minimal|representation)"|(minimal|representation))[ \t]*(?:;|$)/i
// Commas inside a quoted text do not end a preference.
const PARTS = /(?:[^,"]|"(?:\\.|[^"\\])*"?)+/g

/**
 * What `Prefer` asks for (RFC 7240): the representation, the least, or nothing said. Of several the first counts, other
 * preferences are passed over.
 */
export function returnPreference(header: string | string[] | undefined): 'minimal' | 'representation' | null {
  const parts = String(header ?? '').match(PARTS) ?? []
  const first = parts.find((part) => /^[ \t]*return[ \t]*(?:[=;]|$)/i.test(part)) ?? ''
  const [, quoted, bare] = PREFERENCE.exec(first) ?? []
  const wanted = quoted ?? bare
  return wanted === 'minimal' || wanted === 'representation' ? wanted : null
}
