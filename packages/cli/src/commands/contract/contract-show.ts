import { Argument } from 'commander'
import { addToGroup } from '../../add-to-group.ts'
import type { AddCommand } from '../../command.ts'
import { writeJson } from '../../output.ts'

/** `oncehook contract show`: prints a contract with handlers as a Pact, or the catalogue of provider states. */
export const addContractShowCommand: AddCommand = (program, { context }) => {
  addToGroup(program, 'contract', 'show')
    .description('Print a contract as a pact file, or the catalogue of provider states.')
    .addArgument(new Argument('<name>', 'what to print').choices(['https-handler', 'trpc-handler', 'states']))
    .action(async (name: string) => {
      const { PUBLISHED } = await import('../../contract/published-contracts.ts')
      writeJson(context, PUBLISHED[name])
    })
}
