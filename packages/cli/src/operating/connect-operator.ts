import type { CliContext } from '../cli-context.ts'
import { createOperatorClient, type OperatorClient } from './operator-client.ts'
import { findOperatorAddress, type OperatorOptions } from './operator-options.ts'

/**
 * A client of the gateway that the options name, or of the one that runs here.
 * @throws CommandFailure or UsageError when there is none, or no token for it
 */
export async function connectOperator(options: OperatorOptions, context: CliContext): Promise<OperatorClient> {
  return createOperatorClient(context.fetch, await findOperatorAddress(options, context))
}
