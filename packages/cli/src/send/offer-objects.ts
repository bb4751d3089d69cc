import { type ObjectApi, startObjectApi } from '@oncehook/simulator/object-api'
import type { CliContext } from '../cli-context.ts'
import { CommandFailure } from '../exit-code.ts'
import type { SigningIdentity } from '../sign/signing-identity.ts'
import type { PlannedPayment } from './plan-payment.ts'

const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|localhost)$/

/**
 * Runs a fake provider API until disposal, if the gateway has to query the provider, and its setting points to this machine.
 * For several events about one payment, the API knows the last one. For another host, prints which host the gateway queries.
 * @throws CommandFailure if the port is in use
 */
export async function offerObjects(
  { signer, settings }: SigningIdentity,
  payments: readonly PlannedPayment[],
  { warn }: Pick<CliContext, 'warn'>,
): Promise<AsyncDisposable> {
  const asked = fetchSettingsOf(settings)
  const nothing = { [Symbol.asyncDispose]: () => Promise.resolve() }
  if (signer.describeObject === undefined || asked === null) return nothing
  const { url, token } = asked
  if (!LOOPBACK.test(url.hostname) || url.protocol !== 'http:') {
    warn(`The gateway will query ${url.origin}, which must know the payment\n`)
    return nothing
  }
  const api = await start(url, token)
  for (const { events } of payments) {
    for (const event of events) api.add(signer.describeObject(event))
  }
  return api
}

function fetchSettingsOf({ fetch }: SigningIdentity['settings']): { url: URL; token: string } | null {
  if (typeof fetch !== 'object' || fetch === null || !('baseUrl' in fetch) || !('token' in fetch)) return null
  const url = URL.parse(String(fetch.baseUrl))
  return url === null ? null : { url, token: String(fetch.token) }
}

async function start({ port, pathname, origin }: URL, token: string): Promise<ObjectApi> {
  try {
    return await startObjectApi({ port: Number(port || 80), basePath: pathname.replace(/\/+$/, ''), token })
  } catch (error) {
    const summary = `Cannot start the fake provider API at ${origin}: the port is in use or not permitted`
    throw new CommandFailure(summary, { cause: error })
  }
}
