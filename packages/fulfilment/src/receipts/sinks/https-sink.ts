import { type ReceiptSink, receiptRefused } from '../receipt-sink.ts'

/** What the sink needs: where it posts, and by which fetch. */
export interface HttpsSinkOptions {
  readonly url: URL
  readonly fetch: typeof globalThis.fetch
}

// Timeout, conflict with a request under way, too early, too many: another try may succeed.
const AGAIN = new Set([408, 409, 425, 429])

/**
 * Creates a sink that posts each receipt as JSON with `Idempotency-Key: <key>`: the other side tells repetitions by it.
 * A 4xx other than a passing one is final. Redirects are not followed: a receipt goes where the settings say.
 */
export function createHttpsSink({ url, fetch }: HttpsSinkOptions): ReceiptSink {
  const { authorization, target } = splitCredentials(url)
  return {
    keyed: true,
    atOnce: 32,
    async send(receipt, { signal }) {
      const response = await fetch(target, {
        method: 'POST',
        redirect: 'manual',
        signal,
        headers: { 'content-type': 'application/json', 'idempotency-key': receipt.key, ...authorization },
        body: JSON.stringify(receipt),
      })
      await response.body?.cancel()
      if (response.ok) return
      const { status } = response
      if (status >= 400 && status < 500 && !AGAIN.has(status)) throw receiptRefused({ status })
      throw Object.assign(new Error('The receiver of receipts did not take it'), { code: `http_${status}` })
    },
    async close() {},
  }
}

/** Fetch refuses credentials in an address, so they travel as a header (RFC 7617). */
function splitCredentials(url: URL): { target: URL; authorization: Record<string, string> } {
  if (url.username === '') return { target: url, authorization: {} }
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  const target = new URL(url)
  target.username = ''
  target.password = ''
  return { target, authorization: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` } }
}
