import type { CliContext } from '../cli-context.ts'
import type { AddCommand } from '../command.ts'
import type { ExitCode } from '../exit-code.ts'
import { writeJson, writeLines } from '../output.ts'
import { addDeliveryOptions, type DeliveryOptions } from '../verify/delivery-options.ts'

/** `oncehook verify`: checks whether a delivery is authentic. */
export const addVerifyCommand: AddCommand = (program, { context, finish }) => {
  const command = program
    .command('verify')
    .description('Check whether a delivery is authentic, with the verifiers of the gateway.')
    .action(async (file: string | undefined, options: DeliveryOptions) => finish(await verify(file, options, context)))
  addDeliveryOptions(command)
}

async function verify(file: string | undefined, options: DeliveryOptions, context: CliContext): Promise<ExitCode> {
  // Loaded here, so that other commands do not wait for the verifiers.
  const { verifyGiven, describeResult, toResultDocument } = await import('../verify/verify-given.ts')
  const verified = await verifyGiven(file, options, context)
  if (options.json) writeJson(context, toResultDocument(verified))
  else writeLines(context, describeResult(verified))
  return verified.result.accepted ? 0 : 1
}
