import { ask, type OperatorClient } from '../operator/operator-client.ts'
import { toPrintable, toTime } from '../output.ts'
import { endOf, SOON_MS } from './check-secrets.ts'
import { type Finding, failure, ok, warning } from './finding.ts'

type Handler = Awaited<ReturnType<OperatorClient['handlers']['list']['query']>>[number]

/**
 * Checks that each handler answers, takes its tasks, has no dead ones and can sign its calls, and that no task waits for a
 * handler that was removed. Fulfilment has checks already: its dead events are among all others.
 */
export async function checkHandlers(client: OperatorClient, now: number): Promise<Finding[]> {
  const listed = await ask(client.handlers.list.query())
  if (listed.length === 0) return [ok('handlers', 'None: HANDLERS is not set')]
  const handlers = listed.filter(({ by }) => by !== 'built in')
  const findings = handlers.flatMap((handler) => checkHandler(handler, now))
  return findings.length > 0 ? findings : [ok('handlers', describe(handlers))]
}

function describe(handlers: readonly Handler[]): string {
  if (handlers.length === 0) return 'None is configured'
  const shown = handlers.map(({ name, pending }) => `${toPrintable(name)} (${pending ?? 'unknown'} pending)`)
  return `No problem of ${shown.join(', ')}`
}

function checkHandler(handler: Handler, now: number): Finding[] {
  return handler.by === 'removed'
    ? [checkRemoved(handler)]
    : [checkAnswers(handler) ?? checkFailing(handler), checkDead(handler), checkSigning(handler, now)].filter(
        (finding) => finding !== null,
      )
}

function checkRemoved({ name, pending, dead }: Handler): Finding {
  const shown = toPrintable(name)
  return warning(
    'handlers',
    `${shown} is not configured, and has ${pending ?? 'unknown'} pending and ${dead ?? 'unknown'} dead tasks`,
    `Add it to the setting again, or run oncehook handlers discard ${shown}`,
  )
}

function checkAnswers({ name, host, answers, failing }: Handler): Finding | null {
  if (answers !== false) return null
  const last = failing ? `. Last error: ${describeError(failing)}` : ''
  return failure(
    'handlers',
    `${name} at ${host} does not answer the gateway${last}`,
    'Start it, or check its log and its URL; its tasks are stored, and are sent once it answers',
  )
}

type Failing = NonNullable<Handler['failing']>

// The gateway examines no more tasks than this.
const MOST_EXAMINED = 20

/** A handler that answers can still refuse everything: its secret or its path is wrong, or it has a bug. */
function checkFailing({ name, pending, failing, paused, pausedBySetting }: Handler): Finding | null {
  if (!failing || paused !== null || pausedBySetting) return null
  const { tasks } = failing
  const count = `${tasks === MOST_EXAMINED ? 'At least ' : ''}${tasks} of ${pending ?? 'an unknown number of'}`
  return warning(
    'handlers',
    `${count} pending tasks of ${name} have failed three times or more. Last error: ${describeError(failing)}`,
    'Check its log, its secret and its URL; docs/how-to/handler-problem.md describes what to do for each answer',
  )
}

function describeError({ code, message }: Failing): string {
  return `${toPrintable(message)} (${toPrintable(code)})`
}

function checkDead({ name, dead }: Handler): Finding | null {
  if (dead === 0) return null
  if (dead === null) return warning('handlers', 'MongoDB did not answer in time', 'Check the load on MongoDB')
  return warning(
    'handlers',
    `${dead} dead tasks of ${name}`,
    `Run oncehook events list --handler ${name} --state dead; replay them when the handler takes them`,
  )
}

/** All valid secrets sign, so the last one of them counts. */
function checkSigning({ name, by, secrets }: Handler, now: number): Finding | null {
  const last = Math.max(...secrets.map(endOf))
  if (by !== 'https' || last - now > SOON_MS) return null
  const todo = 'Add a new secret to the setting and to the handler, or extend notAfter'
  if (last <= now) return failure('handlers', `Every secret of ${name} has expired: no call can be signed`, todo)
  const at = toTime(new Date(last).toISOString())
  return warning('handlers', `The last secret of ${name} expires ${at}: then no call can be signed`, todo)
}
