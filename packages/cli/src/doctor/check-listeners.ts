// The checks from outside: do both listeners of the gateway answer, is its clock right, and do they accept our tokens?

import type { CliContext } from '../command.ts'
import type { OperatorAddress } from '../operator/operator-client.ts'
import { type Finding, failure, ok, warning } from './finding.ts'

/** Checks that the public listener answers, and that its clock is close to ours: signatures contain a time. */
export async function checkGateway(context: CliContext, url: string): Promise<Finding[]> {
  const answer = await probe(context, `${url}/healthz`)
  if (answer === null) return [failure('gateway', `${url} does not answer`, 'Start it, or check its log')]
  if (answer.status !== 200) {
    const message = `${url}/healthz returned ${answer.status}: not the public listener of a gateway`
    return [failure('gateway', message, 'Check --url and any proxy in front of the gateway')]
  }
  return [ok('gateway', `${url} answers`), checkClock(answer)]
}

const NOTICED_MS = 5_000
const HALF_THE_WINDOW_MS = 150_000

function checkClock({ date, askedAt }: ProbeAnswer): Finding {
  if (date === null) return warning('clock', 'The gateway sends no Date header', 'Check whether a proxy removes it')
  // The Date header has whole seconds, rounded down.
  const skewMs = Math.max(0, Math.abs(date + 500 - askedAt) - 500)
  const message = `The gateway's clock differs from this machine's by ${(skewMs / 1_000).toFixed(1)} s`
  const todo = 'Synchronize both with NTP: signatures are valid for 300 s before and after the current time'
  if (skewMs > HALF_THE_WINDOW_MS) return failure('clock', message, todo)
  return skewMs > NOTICED_MS ? warning('clock', message, todo) : ok('clock', message)
}

/** Checks that the private listener answers, and reports the state of each dependency. */
export async function checkAdmin(context: CliContext, adminUrl: string): Promise<Finding[]> {
  const live = await probe(context, `${adminUrl}/livez`)
  if (live?.status !== 200) {
    const message = live === null ? 'does not answer' : `returned ${live.status}: not the private listener of a gateway`
    return [
      failure(
        'admin',
        `${adminUrl} ${message}`,
        'Check --admin-url: it consists of ADMIN_HOST and ADMIN_PORT of the gateway',
      ),
    ]
  }
  const ready = await probe(context, `${adminUrl}/readyz`)
  return [ok('admin', `${adminUrl} answers`), ...readDependencies(ready).map(describeDependency)]
}

function readDependencies(answer: ProbeAnswer | null): [name: string, state: unknown][] {
  try {
    const { checks } = JSON.parse(answer?.body ?? '') as { checks: Record<string, unknown> }
    return Object.entries(checks)
  } catch {
    return [['readiness', 'unknown']]
  }
}

const REMEDIES: Readonly<Record<string, string>> = {
  mongodb: 'Check that MongoDB has a primary and accepts the gateway; deliveries get 500, and providers retry them',
  fulfilment: 'Start fulfilment, or check its log; deliveries are stored and are processed once it is back',
}

function describeDependency([name, state]: [name: string, state: unknown]): Finding {
  if (state === 'ok') return ok(name, `The gateway reaches ${name}`)
  return failure(name, `The gateway cannot reach ${name}`, REMEDIES[name] ?? 'Check the log of the gateway')
}

export async function checkApiToken(
  context: CliContext,
  { url, token }: { readonly url: string; readonly token: string | undefined },
): Promise<Finding> {
  if (token === undefined) return warning('api token', 'Not checked: no token was given', 'Give --api-token-file')
  const answer = await probe(context, `${url}/api/orders?limit=1`, token)
  return describeToken('api token', answer?.status, 'API_TOKENS')
}

export async function checkOperatorToken(context: CliContext, { adminUrl, token }: OperatorAddress): Promise<Finding> {
  const answer = await probe(context, `${adminUrl}/operator/audit.list`, token)
  return describeToken('operator token', answer?.status, 'OPERATOR_TOKENS, or a valid token from its OPERATOR_ISSUER')
}

function describeToken(check: string, status: number | undefined, setting: string): Finding {
  if (status === 401) return failure(check, 'The token was rejected', `Use one of the gateway's ${setting}`)
  if (status === 200) return ok(check, 'The token is accepted')
  const message = status === undefined ? 'No answer' : `Status ${status}`
  return warning(
    check,
    `${message}: cannot check whether the token is accepted`,
    'Fix the problem above, then run doctor again',
  )
}

interface ProbeAnswer {
  readonly status: number
  readonly body: string
  /** The server's Date header in milliseconds since 1970, with whole seconds. Null if missing. */
  readonly date: number | null
  /** Our time in the middle of the request, in milliseconds since 1970. */
  readonly askedAt: number
}

const TIMEOUT_MS = 5_000

/** Gets a URL. Null if there is no response within 5 s. */
async function probe({ fetch, now }: CliContext, url: string, token?: string): Promise<ProbeAnswer | null> {
  const before = now()
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  try {
    const response = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) })
    const body = await response.text()
    const date = Date.parse(response.headers.get('date') ?? '')
    return { status: response.status, body, date: Number.isNaN(date) ? null : date, askedAt: (before + now()) / 2 }
  } catch {
    return null
  }
}
