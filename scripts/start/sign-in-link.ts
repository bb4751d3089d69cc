import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'

/** Where to request a link, and for which operator. */
export interface LinkRequest {
  readonly adminUrl: string
  /** The token of an operator. */
  readonly token: string
  readonly fetch: typeof globalThis.fetch
}

const STARTING = 503
const WAIT_MS = 100
const TRIES = 100
const answerSchema = z.object({ result: z.object({ data: z.object({ code: z.string() }) }) })

/**
 * Creates a link that opens the operator's page, signed in. The link works once, within 10 minutes. Returns null if the
 * gateway creates none, because that must not stop a start. The operator API opens a moment after the gateway is ready,
 * so the request is repeated until then.
 */
export async function createSignInLink({ adminUrl, token, fetch }: LinkRequest): Promise<string | null> {
  const init = {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{}',
  }
  try {
    for (let tries = 1; ; tries += 1) {
      const response = await fetch(`${adminUrl}/operator/signIn.createCode`, init)
      const text = await response.text()
      if (response.status !== STARTING || tries === TRIES) {
        return `${adminUrl}/sign-in#${answerSchema.parse(JSON.parse(text)).result.data.code}`
      }
      await sleep(WAIT_MS)
    }
  } catch {
    return null
  }
}
