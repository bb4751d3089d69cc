import type { AddCommand, CliContext, ExitCode } from '../command.ts'
import { checkEvents, checkReceipts, checkWithheld } from '../doctor/check-events.ts'
import { checkHandlers } from '../doctor/check-handlers.ts'
import { checkAdmin, checkApiToken, checkGateway, checkOperatorToken } from '../doctor/check-listeners.ts'
import { checkEncryption, checkSecrets } from '../doctor/check-secrets.ts'
import { type Finding, failure, ok, warning } from '../doctor/finding.ts'
import {
  addOperatorOptions,
  createOperatorClient,
  type OperatorAddress,
  OperatorApiFailure,
  type OperatorOptions,
  readOperatorToken,
} from '../operator/operator-client.ts'
import { addUrlOption, findLocalSystem, nothingRuns, protectToken } from '../options/gateway-address.ts'
import { readSecret } from '../options/option-values.ts'
import { writeJson, writeLines } from '../output.ts'

interface Options extends OperatorOptions {
  readonly url?: string
  readonly apiTokenFile?: string
}

const exits = `
Prints one line for each check, and a fix for each problem. Exits with 1 if a check fails.`

export const addDoctorCommand: AddCommand = (program, { context, finish }) => {
  const command = program
    .command('doctor')
    .description(
      'Check a running system: listeners, dependencies, clocks, tokens, failed events, handlers and secrets.',
    )
    .option('--api-token-file <path>', 'file with a bearer token for /api/orders')
    .action(async (options: Options) => finish(await examine(options, context)))
    .addHelpText('after', exits)
  addOperatorOptions(addUrlOption(command))
}

async function examine(options: Options, context: CliContext): Promise<ExitCode> {
  const findings: Finding[] = []
  for await (const finding of runChecks(options, context)) {
    findings.push(finding)
    if (!options.json) writeLines(context, describe(finding))
  }
  const healthy = findings.every(({ level }) => level !== 'failure')
  if (options.json) writeJson(context, { healthy, findings })
  return healthy ? 0 : 1
}

const MARKS = { ok: 'ok', warning: 'WARN', failure: 'FAILED' }

function describe({ check, level, message, todo }: Finding): string[] {
  const line = `${MARKS[level].padEnd(7)} ${check.padEnd(15)} ${message}`
  return todo === undefined ? [line] : [line, `${''.padEnd(24)}-> ${todo}`]
}

async function* runChecks(options: Options, context: CliContext): AsyncGenerator<Finding> {
  const { url, adminUrl, apiToken, operatorToken, found } = await findSettings(options, context)
  yield found
  if (url !== undefined) {
    yield* await checkGateway(context, url)
    yield await checkApiToken(context, { url, token: apiToken })
  }
  if (adminUrl === undefined) return
  yield* await checkAdmin(context, adminUrl)
  if (operatorToken === undefined) {
    yield warning('operator token', 'Not checked: no token was given', 'Give --token-file')
    return
  }
  const accepted = await checkOperatorToken(context, { adminUrl, token: operatorToken })
  yield accepted
  if (accepted.level === 'ok') yield* checkInside(context, { adminUrl, token: operatorToken })
}

async function* checkInside(context: CliContext, address: OperatorAddress): AsyncGenerator<Finding> {
  const client = createOperatorClient(context.fetch, address)
  const checks: [name: string, check: () => Promise<Finding | Finding[]>][] = [
    ['dead events', () => checkEvents(client)],
    ['withheld events', () => checkWithheld(client)],
    ['handlers', () => checkHandlers(client, context.now())],
    ['receipts', () => checkReceipts(client)],
    ['secrets', () => checkSecrets(client, context.now())],
    ['encryption', () => checkEncryption(client)],
  ]
  for (const [name, check] of checks) {
    try {
      yield* [await check()].flat()
    } catch (error) {
      if (!(error instanceof OperatorApiFailure)) throw error
      yield warning(name, `Not checked: ${error.message}`, 'Fix the problem above, then run doctor again')
    }
  }
}

async function findSettings(options: Options, context: CliContext) {
  const running = await findLocalSystem(context.dataFolder)
  const isMeant =
    (options.url ?? running?.gatewayUrl) === running?.gatewayUrl &&
    (options.adminUrl ?? running?.adminUrl) === running?.adminUrl
  const local = isMeant ? running : null
  const url = options.url ?? local?.gatewayUrl
  const adminUrl = options.adminUrl ?? local?.adminUrl
  if (url === undefined && adminUrl === undefined) {
    return { found: failure('settings', nothingRuns, 'Or give --url and --admin-url') }
  }
  const addresses = [url, adminUrl].filter((address) => address !== undefined).join(' and ')
  const { apiTokenFile: tokenFile } = options
  const apiToken = (await readSecret('token', { tokenFile }, context.readEnv)) ?? local?.apiToken
  const operatorToken = await readOperatorToken(options, { context, local })
  if (local === null) protectTokens(options, apiToken, operatorToken)
  const message = local === null ? `As given: ${addresses}` : `Found the local system: ${addresses}`
  return { found: ok('settings', message), url, adminUrl, apiToken, operatorToken }
}

function protectTokens({ url, adminUrl, insecureHttp }: Options, apiToken?: string, operatorToken?: string): void {
  if (url !== undefined && apiToken !== undefined) protectToken('--url', url, insecureHttp)
  if (adminUrl !== undefined && operatorToken !== undefined) protectToken('--admin-url', adminUrl, insecureHttp)
}
