import { ask, type OperatorClient } from '../operator/operator-client.ts'
import { toPrintable, toTime } from '../output.ts'
import { type Finding, ok } from './finding.ts'

/** Shows which providers and handlers are paused. An operator wanted this, so it is not a problem. */
export async function checkPauses(client: OperatorClient): Promise<Finding> {
  const [providers, handlers] = await Promise.all([
    ask(client.providers.list.query()),
    ask(client.handlers.list.query()),
  ])
  const pauses = [
    ...providers.map(({ name, paused }) => describe(name, paused, paused?.waiting ?? null)),
    ...handlers.map(({ name, paused, pending, pausedBySetting }) =>
      paused === null && pausedBySetting
        ? `handler ${name} paused by its setting, ${pending ?? UNKNOWN} waiting`
        : describe(`handler ${toPrintable(name)}`, paused, pending),
    ),
  ].filter((pause) => pause !== null)
  if (pauses.length > 0) return ok('pauses', pauses.join('; '))
  return ok('pauses', handlers.length === 0 ? 'No provider is paused' : 'No provider and no handler is paused')
}

interface Pause {
  readonly since: string
  readonly by: string
  readonly reason: string
}

const UNKNOWN = 'an unknown number of'

function describe(name: string, paused: Pause | null, waiting: number | null): string | null {
  if (paused === null) return null
  const { since, by, reason } = paused
  return `${name} paused since ${toTime(since)} by ${toPrintable(by)} (${toPrintable(reason)}), ${waiting ?? UNKNOWN} waiting`
}
