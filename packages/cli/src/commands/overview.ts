import type { AddCommand } from '../command.ts'
import type { OperatorClient } from '../operator/operator-client.ts'
import { addOperatorAction } from '../operator/operator-command.ts'
import { toAge, toPrintable } from '../output.ts'

export const addOverviewCommand: AddCommand = (program, deps) => {
  const command = program.command('overview').description('Count events by state, and dead events by reason.')
  addOperatorAction(command, deps, { call: (client) => client.overview.query(), describe })
}

type Overview = Awaited<ReturnType<OperatorClient['overview']['query']>>

function describe({
  states,
  deadByReason,
  deadOfOtherReasons,
  oldestUnsettledSeconds,
  pausedProviders,
  pausedHandlers,
  receivedLastMinute,
}: Overview): string[] {
  const count = (value: number | null): string => (value === null ? 'unknown' : String(value))
  const reasons = Object.entries(deadByReason ?? {}).map(([reason, number]) => `  ${toPrintable(reason)}: ${number}`)
  const paused = [...pausedProviders, ...pausedHandlers.map((name) => `handler ${name}`)]
  return [
    `Pending     ${count(states.pending)}`,
    `Processing  ${count(states.processing)}`,
    `Done        ${count(states.done)}`,
    `Unhandled   ${count(states.unhandled)}`,
    `Dead        ${count(states.dead)}`,
    ...reasons,
    ...(deadOfOtherReasons ? [`  other reasons: ${deadOfOtherReasons}`] : []),
    `Closed      ${count(states.closed)}`,
    `Oldest      ${oldestUnsettledSeconds === 0 ? 'none unsettled' : `${toAge(oldestUnsettledSeconds)} unsettled`}`,
    ...(paused.length === 0 ? [] : [`Paused      ${paused.map(toPrintable).join(', ')}`]),
    `Received    ${count(receivedLastMinute)} in the last minute`,
  ]
}
