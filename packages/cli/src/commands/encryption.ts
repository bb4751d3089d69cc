import type { AddCommand, CliContext } from '../command.ts'
import type { OperatorClient } from '../operator/operator-client.ts'
import {
  addOperatorAction,
  addReasonOption,
  type ReasonOptions,
  readReason,
  type Typed,
} from '../operator/operator-command.ts'
import { toPrintable } from '../output.ts'

const notes = `
Records of both services that are unencrypted or use another key are encrypted with the first key of ENCRYPTION_KEYS_FILE.
After an interruption, run the same command again. If the key of a record is missing, the record stays unchanged, and the
command exits with 1. It also exits with 1 if a process still encrypts with another key.`

export const addEncryptionCommands: AddCommand = (program, deps) => {
  const group = program.command('encryption').description('Manage encryption at rest.')
  const command = group
    .command('rotate')
    .description('Encrypt all records with the first key, so that the other keys can be removed.')
  addReasonOption(command).option('--dry-run', 'only count the records that would change').addHelpText('after', notes)
  addOperatorAction(command, deps, {
    call: (client, { options }: Typed<ReasonOptions>) => rotate(client, options, deps.context),
    describe,
    exitCode: ({ unknown, inUse }) => (unknown === 0 && inUse.length === 0 ? 0 : 1),
  })
}

async function rotate(client: OperatorClient, options: ReasonOptions, context: CliContext): Promise<Total> {
  const { dryRun = false } = options
  const reason = await readReason({ ...options, dryRun: false }, context)
  let total: Counts = { examined: 0, changed: 0, unknown: 0, altered: 0 }
  for (let position: string | undefined; ; ) {
    const asked = dryRun && position !== undefined ? { position } : {}
    const part: Part = await client.encryption.rotate.mutate({ reason, dryRun, ...asked })
    // An interrupted command may have run earlier parts. A dry run and an earlier gateway do not count them.
    total = part.total ?? sumOf(total, part)
    if (part.next === null) return { key: part.key, dryRun, ...total, inUse: part.inUse ?? [] }
    position = part.next
  }
}

type Part = Awaited<ReturnType<OperatorClient['encryption']['rotate']['mutate']>>
type Counts = Pick<Part, 'examined' | 'changed' | 'unknown' | 'altered'>
type Total = Counts & Pick<Part, 'key'> & { readonly dryRun: boolean; readonly inUse: readonly string[] }

function sumOf(one: Counts, other: Counts): Counts {
  return {
    examined: one.examined + other.examined,
    changed: one.changed + other.changed,
    unknown: one.unknown + other.unknown,
    altered: one.altered + other.altered,
  }
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
