import type { CliContext } from '../cli-context.ts'
import { UsageError } from '../exit-code.ts'

const RULE = '3 to 200 characters'

/**
 * The reason for the audit log: from the option, else from a prompt on the terminal.
 * @throws UsageError if there is none
 */
export async function readReason(given: string | undefined, { ask }: Pick<CliContext, 'ask'>): Promise<string> {
  if (given === undefined && ask === null) throw new UsageError(`Give a reason with --reason: ${RULE}`)
  const reason = (given ?? (await ask?.('Reason (for the audit log): ')) ?? '').trim()
  if (reason.length >= 3 && reason.length <= 200) return reason
  throw new UsageError(`Give a reason with --reason: ${RULE}`)
}
