import type { AddCommand, CliContext } from '../command.ts'
import {
  addOperatorOptions,
  ask,
  createOperatorClient,
  findOperatorAddress,
  type OperatorOptions,
} from '../operator/operator-client.ts'
import { toTime, writeResult } from '../output.ts'

export const addSignInCommand: AddCommand = (program, { context }) => {
  const command = program
    .command('sign-in')
    .description("Print a link that opens the operator's page, signed in as you. It works once.")
    .action((options: OperatorOptions) => printLink(options, context))
  addOperatorOptions(command)
}

async function printLink(options: OperatorOptions, context: CliContext): Promise<void> {
  const address = await findOperatorAddress(options, context)
  const client = createOperatorClient(context.fetch, address)
  const { code, expiresAt } = await ask(client.signIn.createCode.mutate({}))
  // After the #, because browsers send that part to no server.
  const url = `${address.adminUrl}/sign-in#${code}`
  const lines = [url, `Works once, until ${toTime(expiresAt)}. Anyone who opens it is signed in as you`]
  writeResult(context, options, { url, expiresAt }, lines)
}
