import { readFile } from 'node:fs/promises'
import type { HeaderLine } from '@oncehook/simulator/signers/signer'
import { Option } from 'commander'
import type { CliContext } from '../cli-context.ts'
import type { AddCommand } from '../command.ts'
import { UsageError } from '../exit-code.ts'
import { addUrlOption, findAddressedSystem, toWebhookUrl } from '../gateway-address.ts'
import { readWhole } from '../option-values.ts'
import { writeJson, writeLines } from '../output.ts'
import { addSigningOptions, findSigningIdentity, type SigningOptions } from '../signing-identity.ts'
import { toCurlCommand } from '../to-curl-command.ts'

interface SignOptions extends SigningOptions {
  readonly url?: string
  readonly eventId?: string
  readonly timestamp?: number
  readonly curl?: boolean
  readonly json?: boolean
}

/** `oncehook sign`: the header lines that prove a body, or a curl command that delivers it with them. */
export const addSignCommand: AddCommand = (program, { context, finish }) => {
  const command = program
    .command('sign')
    .description('Print the header lines that prove a body, to be sent with exactly these bytes.')
    .argument('[file]', 'the body; without it, or with -, standard input')
    .option('--event-id <id>', 'the id for schemes with an id header (default: the `id` in the body, else a new one)')
    .option(
      '--timestamp <seconds>',
      'sign as of this time, in seconds since 1970 (default: now)',
      readWhole(0, 9_999_999_999),
    )
    .addOption(new Option('--curl', 'print a curl command instead; the secret is not in it').conflicts('json'))
    .option('--json', 'print one JSON document and nothing else')
    .action(async (file: string | undefined, options: SignOptions) => {
      await sign(file, options, context)
      finish(0)
    })
  addUrlOption(addSigningOptions(command))
}

async function sign(file: string | undefined, options: SignOptions, context: CliContext): Promise<void> {
  const local = await findAddressedSystem(context.dataFolder, options.url)
  const { provider, scheme, signer, secret, settings } = await findSigningIdentity(options, {
    local,
    now: context.now(),
  })
  const body = file === undefined || file === '-' ? await context.readStdin() : await readBody(file)
  const now = options.timestamp === undefined ? context.now() : options.timestamp * 1000
  const eventId = options.eventId ?? findEventId(body) ?? `evt_${context.randomId()}`
  const headers = signer.sign({ body, secret, now, eventId, settings })
  if (options.json) return writeJson(context, { scheme, headers: Object.fromEntries(headers) })
  if (!options.curl) return writeLines(context, headers.map(toHeaderText))
  const gatewayUrl = options.url ?? local?.gatewayUrl
  if (gatewayUrl === undefined) throw new UsageError('With --curl give --url too: the address of the gateway')
  const lines = ['content-type: application/json', ...headers.map(toHeaderText)]
  const source = file === undefined || file === '-' ? { body } : { file }
  writeLines(context, [toCurlCommand({ url: toWebhookUrl(gatewayUrl, provider), headers: lines, ...source })])
}

function toHeaderText([name, value]: HeaderLine): string {
  return `${name}: ${value}`
}

async function readBody(file: string): Promise<Buffer> {
  return readFile(file).catch((error: unknown) => {
    throw new UsageError(`The file ${file} cannot be read`, { cause: error })
  })
}

/** A body need not be JSON to be signed. */
function findEventId(body: Buffer): string | undefined {
  try {
    const document: unknown = JSON.parse(body.toString())
    if (typeof document !== 'object' || document === null || !('id' in document)) return undefined
    return typeof document.id === 'string' ? document.id : undefined
  } catch {
    return undefined
  }
}
