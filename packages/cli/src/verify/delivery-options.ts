import { type Command, InvalidArgumentError, Option } from 'commander'
import { UsageError } from '../exit-code.ts'
import { collectSetting } from '../options/option-values.ts'

/** The options for a received delivery and its provider. */
export interface DeliveryOptions {
  readonly header?: readonly string[]
  readonly request?: string
  readonly url?: string
  /** Milliseconds. */
  readonly now?: number
  readonly provider?: string
  readonly providersFile?: string
  readonly handlersFile?: string
  readonly scheme?: string
  readonly secret?: string
  readonly secretFile?: string
  readonly secretEnv?: string
  readonly set?: Readonly<Record<string, string>>
  readonly json?: boolean
}

const exits = `
Secrets are not accepted as arguments, because the process list shows them. The provider is looked up in --providers-file,
then in PROVIDERS_FILE or PROVIDERS of this shell, then in the local system; the first line says where it was. The command
asks no gateway. It sends nothing; it only fetches the PayPal certificate if the settings contain none.
Exits with 0 if the delivery is accepted, with 1 if it is refused, and with 2 for wrong usage.`

/** Gives a command the options of `DeliveryOptions`. */
export function addDeliveryOptions(command: Command): Command {
  return (
    command
      .argument('[file]', 'file with the exact body as received (default, or -: standard input)')
      .option('-H, --header <line>', 'header line as received, `name: value`; repeatable', collectLine)
      .option('--request <file>', 'file with the whole request instead: headers, an empty line, the body')
      .option('--url <url>', 'URL configured at the provider, with the query of the delivery', readAddress)
      .option('--now <time>', 'verify as of this time: seconds since 1970, or ISO 8601 (default: now)', readTime)
      .option('--provider <name>', 'provider name in the settings')
      .option('--providers-file <path>', 'file with the provider settings, as in PROVIDERS_FILE')
      .option(
        '--scheme <name>',
        'signature scheme, for a provider without settings; also give one of the next two options',
      )
      .option('--secret-file <path>', 'file with the secret')
      .option('--secret-env <name>', 'environment variable with the secret')
      // Defined only to be refused: commander prints unknown options with their values.
      .addOption(new Option('--secret <value>').hideHelp())
      .option('--set <name=value>', 'scheme setting, such as header=x-signature; repeatable', collectSetting)
      .option('--json', 'print one JSON document and nothing else')
      .addHelpText('after', exits)
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

/** @throws UsageError if a secret is given as an argument */
export function refuseSecretArgument({ secret }: DeliveryOptions): void {
  if (secret !== undefined)
    throw new UsageError('Do not pass a secret as an argument: use --secret-file or --secret-env')
}
