// `oncehook audit`: lists the audit log, and checks its chain of hashes in parts, because it may be long.

import { type AddCommand, addToGroup, type CliContext, UsageError } from '../command.ts'
import {
  addOperatorOptions,
  ask,
  connectOperator,
  type OperatorClient,
  type OperatorOptions,
} from '../operator/operator-client.ts'
import {
  addOperatorAction,
  addPageOptions,
  describeNext,
  type PageOptions,
  type Typed,
  toPage,
} from '../operator/operator-command.ts'
import { toTableLines, toTime, writeJson, writeLines } from '../output.ts'

export const addAuditListCommand: AddCommand = (program, deps) => {
  const command = addToGroup(program, 'audit', 'list').description('List audit log entries, newest first.')
  addOperatorAction(addPageOptions(command), deps, {
    call: (client, { options }: Typed<PageOptions>) => client.audit.list.query(toPage(options)),
    describe: (page) => (page.items.length === 0 ? ['The audit log is empty'] : describePage(page)),
  })
}

function describePage({ items, next }: Awaited<ReturnType<OperatorClient['audit']['list']['query']>>): string[] {
  const rows = items.map(({ at, by, action, reason, details, isInChain }) => [
    ...[toTime(at), by, isInChain ? action : `${action} (not in the chain)`, reason, JSON.stringify(details)],
  ])
  return [...toTableLines(['AT', 'BY', 'ACTION', 'REASON', 'DETAILS'], rows), ...describeNext(next)]
}

interface Options extends OperatorOptions {
  readonly expect?: string
}

export const addAuditVerifyCommand: AddCommand = (program, { context, finish }) => {
  const command = addToGroup(program, 'audit', 'verify')
    .description('Check that no audit log entry was changed, removed or inserted.')
    .option('--expect <number:hash>', 'an entry that must exist, from the log or from an earlier run')
    .action(async (options: Options) => finish(await verifyAudit(options, context)))
  addOperatorOptions(command)
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

async function verifyAudit(options: Options, context: CliContext): Promise<0 | 1> {
  const expected = toLink(options.expect)
  const client = await connectOperator(options, context)
  const found = await verifyAll(client, expected)
  if (options.json) writeJson(context, found)
  else writeLines(context, describe(found))
  return found.ok ? 0 : 1
}

/** Checks for the expected entry, then the whole chain in parts. */
async function verifyAll(client: OperatorClient, expected: Link | null): Promise<Found> {
  let entries = 0
  let last: Link | null = null
  if (expected !== null) {
    const behind = await ask(client.audit.verify.query({ after: expected }))
    if (!behind.ok && behind.last === null) {
      return {
        ok: false,
        entries,
        brokenAt: null,
        last,
        problem: `Entry ${expected.seq} does not exist with this hash`,
      }
    }
  }
  for (let after: Link | undefined; ; ) {
    const part = await ask(client.audit.verify.query(after === undefined ? {} : { after }))
    entries += part.entries
    last = part.last
    if (!part.ok) return { ok: false, entries, brokenAt: part.brokenAt, last, problem: problemOf(part, entries) }
    if (part.next === null) return { ok: true, entries, brokenAt: null, last, problem: null }
    after = part.next
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
