// `oncehook contract`: checks a handler, and prints the contracts. The contracts are large, so they are loaded only when they
// are needed.

import { isObject, parseJson } from '@oncehook/kernel/http/json'
import { parsePrivateKey } from '@oncehook/kernel/secrets/service-key-pem'
import { Argument, InvalidArgumentError, Option } from 'commander'
import { type AddCommand, type CliContext, UsageError } from '../command.ts'
import type { CallTarget } from '../contract/call.ts'
import type { CheckedInteraction } from '../contract/verify-handler.ts'
import { addSecretOptions, readGivenFile, readSecret, readWhole, type SecretOptions } from '../options/option-values.ts'
import { toPrintable, writeJson, writeResult } from '../output.ts'

interface Options extends SecretOptions {
  readonly handler: string
  readonly by: 'https' | 'trpc'
  readonly name: string
  readonly type: string
  readonly provider: string
  readonly body?: string
  readonly objectId: string
  readonly timeout: number
  readonly batch?: boolean
  readonly json?: boolean
}

const HELP = `
The command calls your handler as the gateway does, and compares each answer with the contract: new, repeated, large and
unusual tasks, and calls that the handler must refuse. It needs no gateway. The handler acts on the events, so use one with a
database for tests. Each event has a new id, and a new id of its object, also in the body that you give. If the handler
refuses the body that is made up (422), the calls that it should act on are left out: give --body. Answers that need a state
of the handler are not checked: give the contract that \`oncehook contract show\` prints to a verifier of Pact.
Exits with 0 if everything is kept, with 1 if something is not, and with 2 for wrong usage.`

export const addContractCommands: AddCommand = (program, { context, finish }) => {
  const group = program.command('contract').description('Check your handler against the published contract.')
  const command = group
    .command('verify')
    .description('Check your handler.')
    .requiredOption('--handler <url>', 'URL of your handler, as in HANDLERS', readAddress)
    .addOption(new Option('--by <way>', 'how the handler is called').choices(['https', 'trpc']).default('https'))
    .option('--name <name>', 'name of the handler in HANDLERS', 'billing')
    .option('--type <type>', 'type of event that your handler acts on', 'customer.subscription.deleted')
    .option('--provider <name>', 'provider of the events', 'stripe')
    .option('--body <file>', 'JSON body of such an event. Default: one that is made up')
    .option('--object-id <pointer>', 'JSON Pointer: where the body has the id of its object', '/data/object/id')
    .option('--batch', 'with https: the handler has "batch" in its settings, and gets a call with two events, too')
    .option('--timeout <ms>', 'longest time of a call', readWhole(1, 600_000), 10_000)
  addSecretOptions(command, 'secret', 'the secret of the handler (with trpc: a private key, see `keys new`)')
    .option('--json', 'print one JSON document and nothing else')
    .addHelpText('after', HELP)
    .action(async (options: Options) => {
      const { isKept, lines, document } = await checkHandler(options, context)
      writeResult(context, options, document, lines)
      finish(isKept ? 0 : 1)
    })
  group
    .command('show')
    .description('Print a contract as a pact file, or the catalogue of provider states.')
    .addArgument(new Argument('<name>', 'what to print').choices(['https-handler', 'trpc-handler', 'states']))
    .action(async (name: string) => {
      const { PUBLISHED } = await import('../contract/published-contracts.ts')
      writeJson(context, PUBLISHED[name])
    })
}

/** The URL as it is given: a slash at its end is part of it. */
function readAddress(text: string): string {
  const url = URL.parse(text)
  if (url !== null && /^https?:$/.test(url.protocol) && url.hash === '') return url.href
  throw new InvalidArgumentError('Must be a URL such as https://billing.example/webhooks.')
}

async function checkHandler(options: Options, context: CliContext) {
  const check = await readCheck(options, context)
  const [{ verifyHandler }, { idAt }] = await Promise.all([
    import('../contract/verify-handler.ts'),
    import('../contract/call.ts'),
  ])
  const checked = await verifyHandler(check)
  const failed = checked.filter(({ result }) => result === 'failed').length
  const left = checked.filter(({ result }) => result === 'left out').length
  const summary = `${checked.length - failed - left} kept, ${failed} not kept, ${left} left out`
  const { body, objectId } = check.handler
  const isOne = body !== null && idAt(body, objectId) === null
  const note = `All events are about one object: the body has no id at ${objectId}, which --object-id names`
  return {
    isKept: failed === 0,
    lines: [...checked.flatMap(describe), '', ...(isOne ? [note] : []), summary],
    document: { result: failed === 0 ? 'kept' : 'broken', summary, interactions: checked },
  }
}

function describe({ sent, expected, got, result, problems, advice }: CheckedInteraction): string[] {
  return [
    `${result.padEnd(8)}  ${sent}: expected ${expected}, got ${got ?? 'no answer'}`,
    ...(result === 'ok' ? [] : problems.map((problem) => `          ${toPrintable(problem)}`)),
    ...(result === 'ok' || got === null || advice === null ? [] : [`          ${advice}`]),
  ]
}

async function readCheck(options: Options, context: CliContext): Promise<CallTarget> {
  const { handler: url, by, name, type, provider, objectId, timeout, batch = false } = options
  if (batch && by === 'trpc') throw new UsageError('--batch is for --by https: calls of trpc are batches anyway')
  const secret = await readSecret('secret', options, context.readEnv)
  if (secret === undefined) throw new UsageError('--handler needs --secret-file or --secret-env')
  const key = by === 'trpc' ? parsePrivateKey(secret) : null
  if (typeof key === 'string') throw new UsageError(`The secret ${key}`)
  if (!/^[a-z0-9-]+$/.test(name)) throw new UsageError('--name must be a name of HANDLERS: a to z, 0 to 9 and -')
  if (!/^[a-z0-9-]+$/.test(provider))
    throw new UsageError('--provider must be a name of PROVIDERS: a to z, 0 to 9 and -')
  const body = options.body === undefined ? null : await readObject(options.body)
  return {
    ...{ by, url, takesBatches: batch, timeoutMs: timeout, handler: { name, type, provider, body, objectId, secret } },
    ...{ now: context.now, randomId: context.randomId, fetch: context.fetch },
  }
}

async function readObject(path: string): Promise<Readonly<Record<string, unknown>>> {
  const value = parseJson((await readGivenFile(path)).toString())
  if (isObject(value)) return value
  throw new UsageError('The file given by --body must contain a JSON object')
}
