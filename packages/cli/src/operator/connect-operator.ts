import type { CliContext } from '../cli-context.ts'
import { createOperatorClient, type OperatorClient } from './operator-client.ts'
import { findOperatorAddress, type OperatorOptions } from './operator-options.ts'

/**
 * A client of the operator API of the gateway in the options, or of the local one.
 * @throws CommandFailure or UsageError if there is no gateway, or no token for it
 */
export async function connectOperator(options: OperatorOptions, context: CliContext): Promise<OperatorClient> {
  return createOperatorClient(context.fetch, await findOperatorAddress(options, context))
}
