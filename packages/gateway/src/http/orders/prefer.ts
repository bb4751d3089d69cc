const PREFERENCE = /^[ \t]*return[ \t]*=[ \t]*(?:"(minimal|representation)"|(minimal|representation))[ \t]*(?:;|$)/i
// Commas inside a quoted string do not end a preference.
const PARTS = /(?:[^,"]|"(?:\\.|[^"\\])*"?)+/g

/**
 * The `return` preference of a `Prefer` header (RFC 7240); null if there is none. If there are several, the first one
 * counts. Other preferences are ignored.
 */
export function returnPreference(header: string | string[] | undefined): 'minimal' | 'representation' | null {
  const parts = String(header ?? '').match(PARTS) ?? []
  const first = parts.find((part) => /^[ \t]*return[ \t]*(?:[=;]|$)/i.test(part)) ?? ''
  const [, quoted, bare] = PREFERENCE.exec(first) ?? []
  const wanted = quoted ?? bare
  return wanted === 'minimal' || wanted === 'representation' ? wanted : null
}
