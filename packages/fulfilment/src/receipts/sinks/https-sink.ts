import type { KeyObject } from 'node:crypto'
import { signWebhook } from '@oncehook/kernel/secrets/sign-webhook'
import type { Clock } from '@oncehook/kernel/time/clock'
import { type ReceiptSink, receiptRefused } from '../receipt-sink.ts'

/** Dependencies of the sink: the URL, the fetch function and the signing keys. */
export interface HttpsSinkOptions {
  readonly url: URL
  readonly fetch: typeof globalThis.fetch
  /** Each key signs each receipt. Without keys, receipts are not signed. */
  readonly keys: readonly KeyObject[]
  readonly clock: Clock
}

// What is wrong with a receipt. All else, such as 401 or 404, is a receiver that is not set up right, or not now: nothing is lost meanwhile.
const FINAL = new Set([400, 410, 413, 422])

/**
 * Creates a sink that posts each receipt as JSON with `Idempotency-Key: <key>`, which lets the receiver detect
 * duplicates. With signing keys, each request is signed as defined by Standard Webhooks, with the receipt key as
 * `webhook-id`. Only 400, 410, 413 and 422 are final: any other answer is tried again. Redirects are not followed: receipts only go to the configured
 * URL.
 */
export function createHttpsSink({ url, fetch, keys, clock }: HttpsSinkOptions): ReceiptSink {
  const { authorization, target } = splitCredentials(url)
  return {
    keyed: true,
    atOnce: 32,
    async send(receipt, signal) {
      const body = JSON.stringify(receipt)
      const signed = keys.length === 0 ? {} : signWebhook({ id: receipt.key, now: clock.now(), body }, keys)
      const response = await fetch(target, {
        method: 'POST',
        redirect: 'manual',
        signal,
        headers: { 'content-type': 'application/json', 'idempotency-key': receipt.key, ...signed, ...authorization },
        body,
      })
      // The status decides, whatever becomes of the body.
      await response.body?.cancel().catch(() => undefined)
      if (response.ok) return
      const { status } = response
      if (FINAL.has(status)) throw receiptRefused({ status })
      throw Object.assign(new Error('The receiver did not accept the receipt'), { code: `http_${status}` })
    },
    async close() {},
  }
}

/** Fetch rejects credentials in a URL, so they are sent as a header (RFC 7617). */
function splitCredentials(url: URL): { target: URL; authorization: Record<string, string> } {
  if (url.username === '') return { target: url, authorization: {} }
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  const target = new URL(url)
  target.username = ''
  target.password = ''
  return { target, authorization: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` } }
}
