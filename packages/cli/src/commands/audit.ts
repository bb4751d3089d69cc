// `oncehook audit`: lists the audit log, and checks its chain of hashes in parts, because it may be long.

import { type AddCommand, UsageError } from '../command.ts'
import {
  addOperatorOptions,
  ask,
  connectOperator,
  type OperatorClient,
  type OperatorOptions,
} from '../operator/operator-client.ts'
import { addPageAction } from '../operator/operator-command.ts'
import { toTime, writeResult } from '../output.ts'

interface Options extends OperatorOptions {
  readonly expect?: string
}

export const addAuditCommands: AddCommand = (program, deps) => {
  const { context, finish } = deps
  const group = program.command('audit').description('Inspect the audit log.')
  addPageAction(group.command('list').description('List audit log entries, newest first.'), deps, {
    call: (client, page) => client.audit.list.query(page),
    none: 'The audit log is empty',
    head: ['AT', 'BY', 'ACTION', 'REASON', 'DETAILS'],
    row: ({ at, by, action, reason, details, isInChain }) => [
      ...[toTime(at), by, isInChain ? action : `${action} (not in the chain)`, reason, JSON.stringify(details)],
    ],
  })
  const verify = group
    .command('verify')
    .description('Check that no audit log entry was changed, removed or inserted.')
    .option('--expect <number:hash>', 'an entry that must exist, from the log or from an earlier run')
    .action(async (options: Options) => {
      const expected = toLink(options.expect)
      const found = await verifyAll(await connectOperator(options, context), expected)
      writeResult(context, options, found, describe(found))
      finish(found.ok ? 0 : 1)
    })
  addOperatorOptions(verify)
}

type Verification = Awaited<ReturnType<OperatorClient['audit']['verify']['query']>>
type Link = NonNullable<Verification['last']>

/** The result for the whole chain. */
interface Found {
  readonly ok: boolean
  readonly entries: number
  readonly brokenAt: string | null
  readonly last: Link | null
  /** The problem, as a sentence. */
  readonly problem: string | null
}

/** Checks for the expected entry, then the whole chain in parts. */
async function verifyAll(client: OperatorClient, expected: Link | null): Promise<Found> {
  if (expected !== null) {
    const behind = await ask(client.audit.verify.query({ after: expected }))
    if (!behind.ok && behind.last === null) {
      const problem = `Entry ${expected.seq} does not exist with this hash`
      return { ok: false, entries: 0, brokenAt: null, last: null, problem }
    }
  }
  let entries = 0
  for (let after: Link | undefined; ; ) {
    const part = await ask(client.audit.verify.query(after === undefined ? {} : { after }))
    const { ok, brokenAt, last, next } = part
    entries += part.entries
    if (!ok) return { ok, entries, brokenAt, last, problem: problemOf(part, entries) }
    if (next === null) return { ok, entries, brokenAt: null, last, problem: null }
    after = next
  }
}

function problemOf({ brokenAt }: Verification, entries: number): string {
  return brokenAt === null
    ? `The newest entries are missing, after ${entries} valid entries`
    : `The chain is broken at entry ${brokenAt}, after ${entries} valid entries`
}

function describe({ entries, last, problem }: Found): string[] {
  if (problem !== null) return [problem]
  const end = last === null ? [] : [`Keep this for the next check: --expect ${last.seq}:${last.hash}`]
  return [`${entries} entries, unchanged, none missing`, ...end]
}

function toLink(text: string | undefined): Link | null {
  if (text === undefined) return null
  const [, seq, hash] = /^([1-9]\d{0,14}):([0-9a-f]{64})$/.exec(text) ?? []
  if (seq === undefined || hash === undefined)
    throw new UsageError('--expect must be a number and a hash, such as 12:3f…')
  return { seq: Number(seq), hash }
}
