import type { CliContext } from '../cli-context.ts'
import { type Finding, failure, ok, warning } from './finding.ts'
import { type ProbeAnswer, probe } from './probe.ts'

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
