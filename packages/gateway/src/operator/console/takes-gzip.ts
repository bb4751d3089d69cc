const GZIP = /^gzip(?:[ \t]*;[ \t]*q=([\d.]+))?$/i

/**
 * Whether the first entry about gzip in an `Accept-Encoding` allows it (RFC 9110 section 12.5.3). The cost is linear in
 * the length of the header, because anyone can send one without a token.
 */
export function takesGzip(header: string | undefined): boolean {
  for (const coding of (header ?? '').split(',')) {
    const gzip = GZIP.exec(coding.trim())
    if (gzip !== null) return Number(gzip[1] ?? 1) > 0
  }
  return false
}
