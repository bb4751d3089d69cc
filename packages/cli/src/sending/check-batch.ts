import { signers } from '@oncehook/simulator/signers/signers'
import { UsageError } from '../exit-code.ts'
import type { SigningIdentity } from '../signing-identity.ts'

const limits = [...signers].flatMap(([scheme, { batch }]) => (batch ? [[scheme, batch.most] as const] : []))

/** The most events that a delivery of any scheme has. */
export const mostInBatch = Math.max(...limits.map(([, most]) => most))

/** The schemes with several events in a delivery, each with its limit, as one text. */
export const batchLimits = limits.map(([scheme, most]) => `${scheme} (at most ${most})`).join(', ')

/** @throws UsageError when a delivery of the scheme cannot have `batch` events */
export function checkBatch({ scheme, signer }: Pick<SigningIdentity, 'scheme' | 'signer'>, batch: number): void {
  const most = signer.batch?.most ?? 1
  if (batch <= most) return
  const has = most === 1 ? 'one event' : `at most ${most} events`
  throw new UsageError(`A delivery of ${scheme} contains ${has}; --batch works with ${batchLimits}`)
}
