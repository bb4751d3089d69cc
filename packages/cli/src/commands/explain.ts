import type { CliContext } from '../cli-context.ts'
import type { AddCommand } from '../command.ts'
import type { ExitCode } from '../exit-code.ts'
import { writeJson, writeLines } from '../output.ts'
import { addDeliveryOptions, type DeliveryOptions } from '../verify/delivery-options.ts'

/** `oncehook explain`: finds out why the gateway refuses a delivery. */
export const addExplainCommand: AddCommand = (program, { context, finish }) => {
  const command = program
    .command('explain')
    .description('Find out why a delivery is refused; never prints the expected signature.')
    .action(async (file: string | undefined, options: DeliveryOptions) => finish(await explain(file, options, context)))
  addDeliveryOptions(command)
}

async function explain(file: string | undefined, options: DeliveryOptions, context: CliContext): Promise<ExitCode> {
  // Loaded here, so that other commands do not wait for the verifiers.
  const { explainGiven, describeExplanation, toExplanationDocument } = await import('../explain/explain-given.ts')
  const explained = await explainGiven(file, options, context)
  if (options.json) writeJson(context, toExplanationDocument(explained))
  else writeLines(context, describeExplanation(explained))
  return explained.acceptedBy === null ? 1 : 0
}
