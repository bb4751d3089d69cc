// `oncehook sign`: signs a body for a gateway.

import { isUtf8 } from 'node:buffer'
import { isObject, parseJson } from '@oncehook/kernel/http/json'
import { type HeaderLine, type SignedDelivery, signDelivery } from '@oncehook/webhooks/signing/signer'
import { Option } from 'commander'
import { type AddCommand, type CliContext, UsageError } from '../command.ts'
import { addUrlOption, findAddressedSystem, toWebhookUrl } from '../options/gateway-address.ts'
import { readGivenFile, readWhole } from '../options/option-values.ts'
import { toPrintable, writeJson, writeLines } from '../output.ts'
import {
  addSigningOptions,
  findSigningIdentity,
  type SigningIdentity,
  type SigningOptions,
} from '../sign/signing-identity.ts'

interface SignOptions extends SigningOptions {
  readonly eventId?: string
  readonly timestamp?: number
  readonly curl?: boolean
  readonly json?: boolean
}

export const addSignCommand: AddCommand = (program, { context }) => {
  const command = program
    .command('sign')
    .description('Print the headers that sign a body, for exactly these bytes; for Adyen, print the signed body.')
    .argument('[file]', 'file with the body (default, or -: standard input)')
    .option('--event-id <id>', 'event id, for schemes with an id header (default: the `id` in the body, or a new id)')
    .option(
      '--timestamp <seconds>',
      'sign as of this time, in seconds since 1970 (default: now)',
      readWhole(0, 9_999_999_999),
    )
    .addOption(new Option('--curl', 'print a curl command instead; it does not contain the secret').conflicts('json'))
    .option('--json', 'print one JSON document and nothing else')
    .action((file: string | undefined, options: SignOptions) => sign(file, options, context))
  addUrlOption(addSigningOptions(command))
}

async function sign(file: string | undefined, options: SignOptions, context: CliContext): Promise<void> {
  const local = await findAddressedSystem(context.dataFolder, options.url)
  const { provider, scheme, signer, secret, place, settings } = await findSigningIdentity(options, {
    local,
    now: context.now(),
    readEnv: context.readEnv,
  })
  context.warn(`${describeSigning({ provider, scheme, place })}\n`)
  const body = file === undefined || file === '-' ? await context.readStdin() : await readGivenFile(file)
  const now = options.timestamp === undefined ? context.now() : options.timestamp * 1000
  const eventId = options.eventId ?? findEventId(body) ?? `evt_${context.randomId()}`
  const signed = signDelivery(signer, { body, secret, now, eventId, settings })
  const isSealed = signer.seal !== undefined
  if (options.json) return writeJson(context, toDocument(scheme, signed, isSealed))
  if (!options.curl) return writeSigned(context, signed, isSealed)
  const gatewayUrl = options.url ?? local?.gatewayUrl
  if (gatewayUrl === undefined) throw new UsageError('--curl needs --url: the URL of the gateway')
  const headers = [`content-type: ${signed.contentType}`, ...signed.headers.map(toHeaderText)]
  const source = isSealed || file === undefined || file === '-' ? Buffer.from(signed.body) : file
  const url = toWebhookUrl(gatewayUrl, provider) + (signed.query === '' ? '' : `?${signed.query}`)
  writeLines(context, [toCurlCommand(url, headers, source)])
}

/** Standard output has only what a program reads. */
function describeSigning({ provider, scheme, place }: Pick<SigningIdentity, 'provider' | 'scheme' | 'place'>): string {
  const who = toPrintable(`${provider} (${scheme})`)
  return place === null ? `${who} signs nothing` : `Signing as ${who} with the secret of ${toPrintable(place)}`
}

function toDocument(scheme: string, { headers, query, body }: SignedDelivery, isSealed: boolean): object {
  return {
    scheme,
    headers: Object.fromEntries(headers),
    ...(query === '' ? {} : { query }),
    ...(isSealed ? { body: Buffer.from(body).toString() } : {}),
  }
}

/** A sealed body contains its signature. The query goes to standard error, because standard output may be a file. */
function writeSigned(context: CliContext, { headers, query, body }: SignedDelivery, isSealed: boolean): void {
  if (query !== '') context.warn(`Send it with the query ?${query}\n`)
  if (isSealed) context.write(body)
  else writeLines(context, headers.map(toHeaderText))
}

function toHeaderText([name, value]: HeaderLine): string {
  return `${name}: ${value}`
}

/** The `id` in a JSON body. A body of another format has none. */
function findEventId(body: Buffer): string | undefined {
  const document = parseJson(body.toString())
  return isObject(document) && typeof document.id === 'string' ? document.id : undefined
}

/**
 * A POSIX shell command that posts exactly these bytes.
 * @throws UsageError if the body is in no file and cannot be part of a command line
 */
function toCurlCommand(url: string, headers: readonly string[], source: string | Buffer): string {
  const lines = ['curl --silent --show-error --include', ...headers.map((header) => `--header ${quote(header)}`)]
  if (typeof source === 'string') return [...lines, `--data-binary ${quote(`@${source}`)}`, quote(url)].join(' \\\n  ')
  if (!isUtf8(source) || source.includes(0))
    throw new UsageError('The body is not text: with --curl, pass it as a file')
  // Unlike --data and --data-binary, --data-raw does not treat a leading @ as a file name.
  return [...lines, `--data-raw ${quote(source.toString())}`, quote(url)].join(' \\\n  ')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
