import { ask, type OperatorClient } from '../operator/operator-client.ts'
import { toPrintable, toTime } from '../output.ts'
import { type Finding, ok } from './finding.ts'

/** Shows which providers are paused. An operator wanted this, so it is not a problem. */
export async function checkPauses(client: OperatorClient): Promise<Finding> {
  const providers = await ask(client.providers.list.query())
  const pauses = providers.flatMap(({ name, paused }) => {
    if (paused === null) return []
    const { since, by, reason, waiting } = paused
    const events = `${waiting ?? 'an unknown number of'} waiting`
    return [`${name} paused since ${toTime(since)} by ${toPrintable(by)} (${toPrintable(reason)}), ${events}`]
  })
  return ok('pauses', pauses.length === 0 ? 'No provider is paused' : pauses.join('; '))
}
