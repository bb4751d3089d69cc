import { createHmac, hash } from 'node:crypto'
import { SigningError } from '@oncehook/webhooks/signing/signer'
import { signers } from '@oncehook/webhooks/signing/signers'
import type { PlannedCall } from './caller-states.ts'
import type { CalledBy } from './published-contracts.ts'

/** A call as it is sent: its text, and the headers that authenticate it. */
export interface SignedCall {
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Signs a call as the gateway does. It shares no code with the gateway, so that a change of the gateway's signatures or
 * tokens does not change what handlers are checked against.
 * @throws SigningError if the secret is not one of Standard Webhooks
 */
export function signCall(by: CalledBy, call: PlannedCall, newId: () => string): SignedCall {
  const text = call.hasSpaces ? JSON.stringify(call.body, null, 2).replaceAll('/', '\\/') : JSON.stringify(call.body)
  if (by === 'https') return { text, headers: signStandard(call, text) }
  return { text, headers: { authorization: `Bearer ${tokenOf(call, text, newId())}` } }
}

function signStandard({ body, secrets, signedAt }: PlannedCall, text: string): Record<string, string> {
  const signer = signers.get('standard-webhooks')
  if (signer === undefined) throw new SigningError('Standard Webhooks is unknown')
  const request = { body: Buffer.from(text), now: signedAt, eventId: String(body.key) }
  const signed = secrets.map((secret) => Object.fromEntries(signer.sign({ ...request, secret })))
  return { ...signed[0], 'webhook-signature': signed.map((one) => one['webhook-signature']).join(' ') }
}

const PROCEDURE = 'events.handle'
const LIFETIME_SECONDS = 60

/** A service token (docs/handlers.md, "Calls by trpc"). */
function tokenOf({ secrets, signedAt, audience }: PlannedCall, text: string, jti: string): string {
  const iat = Math.floor(signedAt / 1_000)
  const claims = {
    ...{ iss: 'gateway', aud: audience, iat, exp: iat + LIFETIME_SECONDS },
    ...{ jti, proc: PROCEDURE, bsh: hash('sha256', text, 'base64url') },
  }
  const head = { alg: 'HS256', typ: 'oncehook-call+jwt' }
  const signed = [head, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${signed}.${createHmac('sha256', secrets[0] ?? '')
    .update(signed)
    .digest('base64url')}`
}
