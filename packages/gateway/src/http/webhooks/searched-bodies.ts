import type { AdmissionDeps, WebhookCall } from './admission.ts'

/** The limits to which bodies count that are read for their signature. */
type SearchDeps = Pick<AdmissionDeps, 'limits' | 'known'>

// Providers that sign in the body send far less. This length is read in a millisecond.
const MOST_SEARCHED_BYTES = 65_536

/** Whether to read a body although its address is over its limit: it is small, and not too many had no valid signature. */
export function mayBeSearched(deps: SearchDeps, call: WebhookCall): boolean {
  const { request, provider } = call
  if (!isSearchable(deps, call) || deps.limits.searched.peek(provider.name).remaining <= 0) return false
  return Number(request.headers['content-length'] ?? Number.NaN) <= MOST_SEARCHED_BYTES
}

/** Whether the signature may be in the body, or there is none and strangers may share the address of the provider. */
export function isSearchable({ known }: Pick<AdmissionDeps, 'known'>, { provider, address }: WebhookCall): boolean {
  return provider.signsInBody || (provider.signedHeaders.length === 0 && known.has(address))
}
