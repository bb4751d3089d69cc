import type { CliContext } from '../cli-context.ts'
import type { AddCommand } from '../command.ts'
import { connectOperator } from '../operator/connect-operator.ts'
import { ask, type OperatorClient } from '../operator/operator-client.ts'
import { addOperatorOptions, type OperatorOptions } from '../operator/operator-options.ts'
import { toAge, toPrintable, writeJson, writeLines } from '../output.ts'

/** `oncehook overview`: counts events by state, and shows the age of the oldest unsettled one. */
export const addOverviewCommand: AddCommand = (program, { context, finish }) => {
  const command = program
    .command('overview')
    .description('Count events by state, and dead events by reason.')
    .action(async (options: OperatorOptions) => {
      await showOverview(options, context)
      finish(0)
    })
  addOperatorOptions(command)
}

async function showOverview(options: OperatorOptions, context: CliContext): Promise<void> {
  const client = await connectOperator(options, context)
  const overview = await ask(client.overview.query())
  if (options.json) return writeJson(context, overview)
  writeLines(context, describe(overview))
}

type Overview = Awaited<ReturnType<OperatorClient['overview']['query']>>

function describe({ states, deadByReason, oldestUnsettledSeconds, receivedLastMinute }: Overview): string[] {
  const count = (value: number | null): string => (value === null ? 'unknown' : String(value))
  const reasons = Object.entries(deadByReason ?? {}).map(([reason, number]) => `  ${toPrintable(reason)}: ${number}`)
  return [
    `Pending     ${count(states.pending)}`,
    `Processing  ${count(states.processing)}`,
    `Done        ${count(states.done)}`,
    `Unhandled   ${count(states.unhandled)}`,
    `Dead        ${count(states.dead)}`,
    ...reasons,
    `Closed      ${count(states.closed)}`,
    `Oldest      ${oldestUnsettledSeconds === 0 ? 'none unsettled' : `${toAge(oldestUnsettledSeconds)} unsettled`}`,
    `Received    ${count(receivedLastMinute)} in the last minute`,
  ]
}
