import { type Command, InvalidArgumentError, Option } from 'commander'
import { UsageError } from '../exit-code.ts'
import { collectSetting } from '../option-values.ts'

/** The options by which a command names a delivery that came in, and the provider it is said to come from. */
export interface DeliveryOptions {
  readonly header?: readonly string[]
  readonly request?: string
  readonly url?: string
  /** Milliseconds. */
  readonly now?: number
  readonly provider?: string
  readonly providersFile?: string
  readonly scheme?: string
  readonly secret?: string
  readonly secretFile?: string
  readonly secretEnv?: string
  readonly set?: Readonly<Record<string, string>>
  readonly json?: boolean
}

const exits = `
A secret is never an argument, for the list of processes shows those. The provider is one of --providers-file, else of
PROVIDERS_FILE or PROVIDERS in the environment, else of the system that runs here. Nothing is sent anywhere; only the
certificate of PayPal is fetched where the settings have none.
Exits with 0 when the delivery is accepted, with 1 when it is refused, with 2 when the options are wrong.`

/** Gives a command the options of `DeliveryOptions`. */
export function addDeliveryOptions(command: Command): Command {
  return (
    command
      .argument('[file]', 'the body, byte for byte as it came; without it, or with -, standard input')
      .option('-H, --header <line>', 'a header line as it came, `name: value`; may be repeated', collectLine)
      .option('--request <file>', 'a file with the whole request instead: its header lines, an empty line, the body')
      .option('--url <url>', 'the address that the provider knows, with the query of the delivery', readAddress)
      .option('--now <time>', 'judge as of this time: seconds since 1970, or ISO 8601 (default: now)', readTime)
      .option('--provider <name>', 'the provider, by its name in the settings')
      .option('--providers-file <path>', 'the settings of the providers, as in PROVIDERS_FILE')
      .option('--scheme <name>', 'how it signs, for a provider that stands in no settings; with one of:')
      .option('--secret-file <path>', 'a file with its secret')
      .option('--secret-env <name>', 'a variable of the environment with its secret')
      // Named only to be refused: an unknown option would be repeated, value and all.
      .addOption(new Option('--secret <value>').hideHelp())
      .option(
        '--set <name=value>',
        'a setting of the scheme, such as header=x-signature; may be repeated',
        collectSetting,
      )
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
  throw new InvalidArgumentError('It is an address such as https://pay.example.com/api/webhooks/square.')
}

function readTime(text: string): number {
  if (/^\d{10}$/.test(text)) return Number(text) * 1000
  const ms = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(ms)) return ms
  throw new InvalidArgumentError('It is a number of seconds with ten digits, or a time such as 2026-11-21T08:00:00Z.')
}

/** @throws UsageError when a secret stands among the arguments */
export function refuseSecretArgument({ secret }: DeliveryOptions): void {
  if (secret !== undefined) throw new UsageError('A secret is never an argument: give --secret-file or --secret-env')
}
