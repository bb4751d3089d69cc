import type { KeyObject } from 'node:crypto'
import type { Clock } from '@oncehook/kernel/clock'
import { signWebhook } from '@oncehook/kernel/sign-webhook'
import { type ReceiptSink, receiptRefused } from '../receipt-sink.ts'

/** What the sink needs: where it posts, by which fetch, and how it signs. */
export interface HttpsSinkOptions {
  readonly url: URL
  readonly fetch: typeof globalThis.fetch
  /** Each signs each receipt. With none, receipts are not signed. */
  readonly keys: readonly KeyObject[]
  readonly clock: Clock
}

// Timeout, conflict with a request under way, too early, too many: another try may succeed.
const AGAIN = new Set([408, 409, 425, 429])

/**
 * Creates a sink that posts each receipt as JSON with `Idempotency-Key: <key>`: the other side tells repetitions by it. With
 * keys it is signed as Standard Webhooks have it, and `webhook-id` is the receipt's key.
 * A 4xx other than a passing one is final. Redirects are not followed: a receipt goes where the settings say.
 */
export function createHttpsSink({ url, fetch, keys, clock }: HttpsSinkOptions): ReceiptSink {
  const { authorization, target } = splitCredentials(url)
  return {
    keyed: true,
    atOnce: 32,
    async send(receipt, { signal }) {
      const body = JSON.stringify(receipt)
      const signed = keys.length === 0 ? {} : signWebhook({ id: receipt.key, now: clock.now(), body }, keys)
      const response = await fetch(target, {
        method: 'POST',
        redirect: 'manual',
        signal,
        headers: { 'content-type': 'application/json', 'idempotency-key': receipt.key, ...signed, ...authorization },
        body,
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
