// A delivery as `verify` and `explain` get it: a body with headers, or a whole request in a file.

import type { Delivery } from '@oncehook/webhooks/providers'
import { type Command, InvalidArgumentError } from 'commander'
import { type CliContext, type CommandDeps, UsageError } from '../command.ts'
import { addSecretOptions, collectSetting, readGivenFile, type SecretOptions } from '../options/option-values.ts'
import { writeResult } from '../output.ts'

/** What a command found out about a delivery. */
export interface DeliveryFinding {
  readonly isAccepted: boolean
  readonly lines: readonly string[]
  /** The output of `--json`. */
  readonly document: object
}

interface DeliveryCommand {
  readonly name: string
  readonly description: string
  /** Options that only this command has. */
  readonly options?: readonly (readonly [flags: string, description: string])[]
  readonly examine: (
    file: string | undefined,
    options: DeliveryOptions,
    context: CliContext,
  ) => Promise<DeliveryFinding>
}

/** Adds a command that examines the delivery of its options. It exits with 0 if the delivery is accepted, otherwise with 1. */
export function addDeliveryCommand(program: Command, { context, finish }: CommandDeps, command: DeliveryCommand): void {
  const { name, description, options: more = [], examine } = command
  const added = addDeliveryOptions(program.command(name).description(description))
  for (const [flags, meaning] of more) added.option(flags, meaning)
  added.action(async (file: string | undefined, options: DeliveryOptions) => {
    const { isAccepted, lines, document } = await examine(file, options, context)
    writeResult(context, options, document, lines)
    finish(isAccepted ? 0 : 1)
  })
}

export interface DeliveryOptions extends SecretOptions {
  readonly header?: readonly string[]
  readonly request?: string
  readonly url?: string
  /** Milliseconds. */
  readonly now?: number
  readonly provider?: string
  readonly providersFile?: string
  readonly handlersFile?: string
  readonly scheme?: string
  readonly set?: Readonly<Record<string, string>>
  readonly json?: boolean
}

const exits = `
Secrets are not accepted as arguments, because the process list shows them. The provider is looked up in --providers-file,
then in PROVIDERS_FILE or PROVIDERS of this shell, then in the local system; the first line says where it was. The command
asks no gateway. It sends nothing; it only fetches the PayPal certificate if the settings contain none.
Exits with 0 if the delivery is accepted, with 1 if it is refused, and with 2 for wrong usage.`

function addDeliveryOptions(command: Command): Command {
  return addSecretOptions(
    command
      .argument('[file]', 'file with the exact body as received (default, or -: standard input)')
      .option('-H, --header <line>', 'header line as received, `name: value`; repeatable', collectLine)
      .option('--request <file>', 'file with the whole request instead: headers, an empty line, the body')
      .option('--url <url>', 'URL configured at the provider, with the query of the delivery', readAddress)
      .option('--now <time>', 'verify as of this time: seconds since 1970, or ISO 8601 (default: now)', readTime)
      .option('--provider <name>', 'provider name in the settings')
      .option('--providers-file <path>', 'file with the provider settings, as in PROVIDERS_FILE')
      .option('--scheme <name>', 'signature scheme, for a provider without settings; also give its secret')
      .option('--set <name=value>', 'scheme setting, such as header=x-signature; repeatable', collectSetting)
      .option('--json', 'print one JSON document and nothing else')
      .addHelpText('after', exits),
    'secret',
    'the secret',
  )
}

function collectLine(line: string, before: readonly string[] = []): string[] {
  return [...before, line]
}

function readAddress(text: string): string {
  const url = URL.parse(text)
  if (url !== null && /^https?:$/.test(url.protocol) && !text.includes('#')) return text
  throw new InvalidArgumentError('Must be a URL such as https://pay.example.com/api/webhooks/square.')
}

function readTime(text: string): number {
  if (/^\d{10}$/.test(text)) return Number(text) * 1000
  const ms = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(ms)) return ms
  throw new InvalidArgumentError('Must be a 10-digit number of seconds, or a time such as 2026-11-21T08:00:00Z.')
}

export interface GivenDelivery {
  readonly delivery: Delivery
  /** The request target, or null if unknown. */
  readonly target: string | null
}

/** @throws UsageError if a file cannot be read, or if options conflict */
export async function readDelivery(
  file: string | undefined,
  options: DeliveryOptions,
  { readStdin }: Pick<CliContext, 'readStdin'>,
): Promise<GivenDelivery> {
  const given = (options.header ?? []).flatMap((line) => readHeaderLine(Buffer.from(line, 'utf8').toString('latin1')))
  const request = options.request === undefined ? null : readRawHttpRequest(await readGivenFile(options.request))
  if (request !== null && file !== undefined) throw new UsageError('Give --request or a file with the body, not both')
  const target = request?.target ?? null
  const rawBody = request?.body ?? (file === undefined || file === '-' ? await readStdin() : await readGivenFile(file))
  const query = queryOf(options.url) ?? queryOf(target) ?? ''
  const rawHeaders = [...(request?.rawHeaders ?? []), ...given]
  return { delivery: { rawBody, rawHeaders, query, isInspected: true }, target }
}

function queryOf(address: string | null | undefined): string | undefined {
  const mark = address?.indexOf('?') ?? -1
  return mark === -1 ? undefined : address?.slice(mark + 1)
}

/** The parts of a request in a file, not decoded. */
interface RawHttpRequest {
  /** The target in the request line, or null without a request line. */
  readonly target: string | null
  /** Names and values alternately, one character per byte. */
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
}

/**
 * Parses an HTTP/1.1 request (RFC 9112). The request line may be missing.
 * @throws UsageError if it is not a request, or if its body does not match its headers
 */
function readRawHttpRequest(bytes: Buffer): RawHttpRequest {
  const text = bytes.toString('latin1')
  const empty = /\r\n\r\n|\n\n/.exec(text)
  if (empty === null) throw new UsageError('The file given by --request has no empty line between headers and body')
  const lines = text.slice(0, empty.index).split(/\r?\n/)
  const [, target] = /^[A-Z]+ (\S+)(?: HTTP\/\d(?:\.\d)?)?$/.exec(lines[0] ?? '') ?? []
  const headers = lines.slice(target === undefined ? 0 : 1).map(readHeaderLine)
  const body = cutBody(bytes.subarray(empty.index + empty[0].length), headers)
  return { target: target ?? null, rawHeaders: headers.flat(), body }
}

/** @throws UsageError if it is invalid */
function readHeaderLine(line: string): [name: string, value: string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/s.exec(line) ?? []
  if (name !== undefined && value !== undefined) return [name, value]
  throw new UsageError('A header line must be `name: value`')
}

/** Editors add a final newline, so Content-Length decides where the body ends. */
function cutBody(rest: Buffer, headers: readonly [name: string, value: string][]): Buffer {
  const lineOf = (name: string): string | undefined => headers.find(([each]) => each.toLowerCase() === name)?.[1]
  if (lineOf('transfer-encoding') !== undefined) {
    throw new UsageError('The body in --request is chunked: give the decoded body as a file, and the headers with -H')
  }
  const length = lineOf('content-length')
  if (length === undefined || !/^\d{1,15}$/.test(length)) return rest
  if (rest.length >= Number(length)) return rest.subarray(0, Number(length))
  throw new UsageError(`The body in --request is truncated: ${rest.length} of ${length} bytes`)
}
