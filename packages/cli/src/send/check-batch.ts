import { signers } from '@oncehook/webhooks/signing/signers'
import { UsageError } from '../exit-code.ts'
import type { SigningIdentity } from '../sign/signing-identity.ts'

const limits = [...signers].flatMap(([scheme, { batch }]) => (batch ? [[scheme, batch.most] as const] : []))

/** The largest batch of any scheme. */
export const mostInBatch = Math.max(...limits.map(([, most]) => most))

/** The schemes that support batches, with their limits, as text. */
export const batchLimits = limits.map(([scheme, most]) => `${scheme} (at most ${most})`).join(', ')

/** @throws UsageError if a delivery of the scheme cannot contain `batch` events */
export function checkBatch({ scheme, signer }: Pick<SigningIdentity, 'scheme' | 'signer'>, batch: number): void {
  const most = signer.batch?.most ?? 1
  if (batch <= most) return
  const has = most === 1 ? 'one event' : `at most ${most} events`
  throw new UsageError(`A delivery of ${scheme} contains ${has}; --batch works with ${batchLimits}`)
}
