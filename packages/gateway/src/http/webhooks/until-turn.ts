import { releaseBuffer } from '@oncehook/kernel/http/release-buffer'
import { overloaded } from '@oncehook/webhooks/providers'
import type { AdmissionDeps, WebhookCall } from './admission.ts'

/** Waits until a large body may be checked. Until then it can be dropped for other bodies, as if it were still arriving. */
export async function untilTurn(
  { turns, known }: Pick<AdmissionDeps, 'turns' | 'known'>,
  { address, share }: WebhookCall,
  rawBody: Buffer,
): Promise<void> {
  const leaving = new AbortController()
  share?.onReading(() => {
    releaseBuffer(rawBody)
    leaving.abort(overloaded({ reason: 'no_turn' }, { headers: { 'Retry-After': '1', Connection: 'close' } }))
  })
  await turns.next({ isKnown: known.has(address), signal: leaving.signal })
}
