import { type AddCommand, addToGroup, type CliContext } from '../command.ts'
import { addOperatorOptions, ask, connectOperator, type OperatorOptions } from '../operator/operator-client.ts'
import { readReason } from '../operator/operator-command.ts'
import { toPrintable, writeJson, writeLines } from '../output.ts'

interface Options extends OperatorOptions {
  readonly reason?: string
  readonly dryRun?: boolean
}

const notes = `
Records of both services that are unencrypted or use another key are encrypted with the first key of ENCRYPTION_KEYS_FILE.
After an interruption, run the same command again. If the key of a record is missing, the record stays unchanged, and the
command exits with 1. It also exits with 1 if a process still encrypts with another key.`

export const addEncryptionRotateCommand: AddCommand = (program, { context, finish }) => {
  const command = addToGroup(program, 'encryption', 'rotate')
    .description('Encrypt all records with the first key, so that the other keys can be removed.')
    .option('--reason <text>', 'reason for the audit log (a terminal prompts for it)')
    .option('--dry-run', 'only count the records that would change')
    .addHelpText('after', notes)
    .action(async (options: Options) => finish(await rotate(options, context)))
  addOperatorOptions(command)
}

/** Resolves to 0 if no other key is needed. */
async function rotate(options: Options, context: CliContext): Promise<0 | 1> {
  const client = await connectOperator(options, context)
  const reason = await readReason(options.reason, context)
  const dryRun = options.dryRun === true
  let total: Counts = { examined: 0, changed: 0, unknown: 0, altered: 0 }
  let key = ''
  let inUse: readonly string[] = []
  for (let position: string | null | undefined; position !== null; ) {
    const asked = dryRun && position !== undefined ? { position } : {}
    const part = await ask(client.encryption.rotate.mutate({ reason, dryRun, ...asked }))
    // An interrupted command may have run earlier parts. A dry run and an earlier gateway do not count them.
    total = part.total ?? sumOf(total, part)
    key = part.key
    inUse = part.inUse ?? []
    position = part.next
  }
  if (options.json) writeJson(context, { key, dryRun, ...total, inUse })
  else writeLines(context, describe({ ...total, key, dryRun, inUse }))
  return total.unknown === 0 && inUse.length === 0 ? 0 : 1
}

interface Counts {
  readonly examined: number
  readonly changed: number
  readonly unknown: number
  readonly altered: number
}

function sumOf(one: Counts, other: Counts): Counts {
  return {
    examined: one.examined + other.examined,
    changed: one.changed + other.changed,
    unknown: one.unknown + other.unknown,
    altered: one.altered + other.altered,
  }
}

interface Total extends Counts {
  readonly key: string
  readonly dryRun: boolean
  readonly inUse: readonly string[]
}

function describe({ examined, changed, unknown, altered, key, dryRun, inUse }: Total): string[] {
  const did = dryRun ? 'would be encrypted' : 'encrypted'
  const lines = [`${changed} of ${examined} records ${did} with the key ${key}`]
  if (unknown > 0) {
    lines.push(`${unknown} unchanged: their keys are not in ENCRYPTION_KEYS_FILE (oncehook doctor lists them)`)
  }
  if (altered > 0) {
    lines.push(`${altered} were altered, and no key can read them (encryption.record-altered in the logs names them)`)
  }
  if (inUse.length > 0) {
    lines.push(
      `Keep ${inUse.map(toPrintable).join(', ')}: a process has encrypted with it meanwhile. Give all processes the same file, and rotate again in two minutes`,
    )
  }
  return lines
}
