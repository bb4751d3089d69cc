import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'

/** Where a link is asked for, and for whom. */
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
 * A link that opens the operator's page, signed in. It works once, within 10 minutes. Null if the gateway makes none; that
 * must not stop a start. The operator API opens a moment after the gateway is ready, so it is asked again until then.
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
