import { z } from 'zod'
import type { Broker } from './broker-settings.ts'
import type { ContractVersion } from './contract-version.ts'
import type { VerificationResult } from './verification-results.ts'

/** What is published, and how. */
export interface PublishedResults {
  readonly broker: Broker
  readonly fetch: typeof globalThis.fetch
  readonly version: ContractVersion
  readonly results: readonly VerificationResult[]
  /** The longest time of a request, in milliseconds. */
  readonly withinMs: number
}

const LINK = 'pb:publish-verification-results'
const pactSchema = z.object({ _links: z.object({ [LINK]: z.object({ href: z.string() }) }) })

/**
 * Publishes the results of verifications by the broker's HTTP API, as Pact's verifiers do. (The official client has no
 * command for it.) Each provider's version gets its branch first. The pacts must have been published with the same version.
 * @throws with the request that failed, and why
 */
export async function publishResults({
  results,
  version: { version, branch },
  ...broker
}: PublishedResults): Promise<void> {
  for (const provider of new Set(results.map((result) => result.provider))) {
    await ask(broker, {
      method: 'PUT',
      path: pathOf`/pacticipants/${provider}/branches/${branch}/versions/${version}`,
      body: {},
    })
  }
  for (const { consumer, provider, success } of results) {
    const path = pathOf`/pacts/provider/${provider}/consumer/${consumer}/version/${version}`
    const pact = pactSchema.safeParse(await ask(broker, { method: 'GET', path }))
    if (!pact.success) throw new Error(`The Pact Broker does not say where to publish results (${LINK}): GET ${path}`)
    const href = pact.data._links[LINK].href
    const verifiedBy = { implementation: 'Pact-JS', version: 'contract tests' }
    await ask(broker, {
      method: 'POST',
      path: href,
      body: { success, providerApplicationVersion: version, verifiedBy },
    })
  }
}

function pathOf(texts: TemplateStringsArray, ...names: readonly string[]): string {
  return String.raw(texts, ...names.map(encodeURIComponent))
}

type Line = Pick<PublishedResults, 'broker' | 'fetch' | 'withinMs'>

interface Request {
  readonly method: string
  /** Below the URL of the broker, or a whole URL. */
  readonly path: string
  readonly body?: object
}

async function ask({ broker, fetch, withinMs }: Line, { method, path, body }: Request): Promise<unknown> {
  const url = new URL(path.startsWith('/') ? `${broker.url.href.replace(/\/$/, '')}${path}` : path)
  const what = `${method} ${url.pathname}`
  // A link must not lead the token away.
  if (url.origin !== broker.url.origin) throw new Error(`The Pact Broker links to another server: ${url.origin}`)
  const headers = {
    accept: 'application/hal+json',
    ...(broker.authorization === undefined ? {} : { authorization: broker.authorization }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  const signal = AbortSignal.timeout(withinMs)
  const given = { method, headers, signal, redirect: 'error' as const, ...(body && { body: JSON.stringify(body) }) }
  try {
    const response = await fetch(url, given)
    if (response.ok) return await response.json().catch(() => null)
    await response.body?.cancel()
    throw new Error(`The Pact Broker answered ${response.status} (${meaningOf(response.status)}): ${what}`)
  } catch (error) {
    if (signal.aborted) throw new Error(`The Pact Broker did not answer within ${withinMs / 1_000} s: ${what}`)
    if (error instanceof TypeError) throw new Error(`The Pact Broker cannot be reached: ${what}`, { cause: error })
    throw error
  }
}

function meaningOf(status: number): string {
  if (status === 401 || status === 403) return 'check PACT_BROKER_TOKEN, or the user and password'
  if (status === 404) return 'was the pact published with this version?'
  if (status === 409) return 'it has something else under this name and version'
  return status >= 500 ? 'it fails; nothing is lost, publish again later' : 'it does not take this request'
}
