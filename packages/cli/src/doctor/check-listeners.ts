import type { CliContext } from '../cli-context.ts'
import { type Finding, failure, ok, warning } from './finding.ts'
import { type ProbeAnswer, probe } from './probe.ts'

/** Whether the public listener answers, and whether its clock is near ours: signatures carry a time. */
export async function checkGateway(context: CliContext, url: string): Promise<Finding[]> {
  const answer = await probe(context, `${url}/healthz`)
  if (answer === null) return [failure('gateway', `${url} does not answer`, 'Start it, or see its log')]
  if (answer.status !== 200) {
    const says = `${url}/healthz is answered ${answer.status}: this is no public listener of a gateway`
    return [failure('gateway', says, 'Check --url, and what stands in front of the gateway')]
  }
  return [ok('gateway', `${url} answers`), checkClock(answer)]
}

const NOTICED_MS = 5_000
const HALF_THE_WINDOW_MS = 150_000

function checkClock({ date, askedAt }: ProbeAnswer): Finding {
  if (date === null) return warning('clock', 'The gateway tells no time', 'See whether a proxy removes the Date header')
  // A Date tells whole seconds, rounded down.
  const skewMs = Math.max(0, Math.abs(date + 500 - askedAt) - 500)
  const says = `The clock of the gateway is ${(skewMs / 1_000).toFixed(1)} s away from the one here`
  const todo = 'Let both be set by NTP: a signature counts for 300 s on both sides of now'
  if (skewMs > HALF_THE_WINDOW_MS) return failure('clock', says, todo)
  return skewMs > NOTICED_MS ? warning('clock', says, todo) : ok('clock', says)
}

/** Whether the private listener answers, and what it says of each thing that the gateway depends on. */
export async function checkAdmin(context: CliContext, adminUrl: string): Promise<Finding[]> {
  const live = await probe(context, `${adminUrl}/livez`)
  if (live?.status !== 200) {
    const says =
      live === null ? 'does not answer' : `is answered ${live.status}: this is no private listener of a gateway`
    return [
      failure('admin', `${adminUrl} ${says}`, 'Check --admin-url: it is ADMIN_HOST and ADMIN_PORT of the gateway'),
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
    return [['readiness', 'not told']]
  }
}

const REMEDIES: Readonly<Record<string, string>> = {
  mongodb: 'See whether MongoDB has a primary and lets the gateway in; deliveries are answered 500 and come again',
  fulfilment: 'Start fulfilment, or see its log; deliveries are stored meanwhile, and processed when it is back',
}

function describeDependency([name, state]: [name: string, state: unknown]): Finding {
  if (state === 'ok') return ok(name, `The gateway reaches ${name}`)
  return failure(name, `The gateway does not reach ${name}`, REMEDIES[name] ?? 'See the log of the gateway')
}
