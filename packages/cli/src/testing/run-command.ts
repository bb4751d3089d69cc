import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Command } from 'commander'
import type { CliContext } from '../command.ts'
import { addOperatorOptions } from '../operator/operator-client.ts'
import { createProgram, runCli } from '../run-cli.ts'
import { fakeSecret, fakeToken } from './fake-gateway.ts'

/** The context of commands in tests: no local system and no terminal. */
export function testContext(overrides: Partial<CliContext> = {}): CliContext {
  return {
    fetch,
    now: Date.now,
    // The fake gateway needs less time.
    sleep: async (ms) => sleep(Math.min(ms, 20)),
    randomId: () => Math.random().toString(36).slice(2),
    readStdin: async () => Buffer.alloc(0),
    readEnv: () => undefined,
    write: () => undefined,
    warn: () => undefined,
    dataFolder: '/nowhere',
    operatorToken: undefined,
    writesToTerminal: false,
    hasTerminal: false,
    ask: null,
    onInterrupt: () => () => undefined,
    ...overrides,
  }
}

/** Runs a command and returns its exit code and output. */
export async function runCommand(args: readonly string[], overrides: Partial<CliContext> = {}) {
  const stdout: string[] = []
  const stderr: string[] = []
  const context = testContext({
    write: (text) => void stdout.push(typeof text === 'string' ? text : Buffer.from(text).toString('latin1')),
    warn: (text) => void stderr.push(text),
    ...overrides,
  })
  return { exitCode: await runCli(args, context), stdout: stdout.join(''), stderr: stderr.join('') }
}

interface DescribedCommand {
  readonly words: readonly string[]
  /** The long options, but for those of every operator command. */
  readonly options: readonly string[]
  /** What an operator command lets its user choose from. */
  readonly choices: readonly string[]
}

/** Each command by its words. */
export function describeCommands(): DescribedCommand[] {
  const program = createProgram({ context: testContext(), finish: () => undefined })
  const namesOf = ({ options }: Command): string[] => options.map(({ long }) => long ?? '')
  const usual = new Set(namesOf(addOperatorOptions(new Command())))
  const describe = (command: Command, words: readonly string[]) => ({
    ...{ words, options: namesOf(command).filter((name) => !usual.has(name)) },
    choices: namesOf(command).includes('--admin-url')
      ? command.options.flatMap(({ argChoices = [] }) => argChoices)
      : [],
  })
  return program.commands.flatMap((group) => [
    describe(group, [group.name()]),
    ...group.commands.map((command) => describe(command, [group.name(), command.name()])),
  ])
}

/** The description of a local system. */
interface RunningSystem {
  readonly pid?: number
  /** Default: the URL of the gateway. */
  readonly adminUrl?: string
  readonly operatorToken?: string
  readonly apiToken?: string
  /** Null: its providers are in its environment. */
  readonly providersFile?: null
}

/** A data folder as `npm start` writes it, for a gateway at the given URL. */
export async function makeDataFolder(gatewayUrl: string, system: RunningSystem = {}) {
  const { pid = process.pid, adminUrl = gatewayUrl, operatorToken = 'unused', apiToken = fakeToken } = system
  const dataFolder = await mkdtemp(join(tmpdir(), 'oncehook-cli-'))
  const running = {
    ...{ gatewayUrl, adminUrl, fulfilmentUrl: gatewayUrl, pid },
    ...{ secretsFile: 'secrets.json', providersFile: system.providersFile === null ? null : 'providers.json' },
    secretVariables: { ONCEHOOK_ACME_SECRET: 'acme', ONCEHOOK_SHOP_SECRET: 'shop' },
  }
  const secretOf = (value: string) => ({ secrets: [{ id: 'development', value }] })
  const secrets = {
    serviceKeys: { privateKey: 'unused', publicKey: 'unused' },
    apiTokens: { dev: apiToken },
    operatorTokens: { dev: operatorToken },
    providers: { shop: secretOf('a secret of the shop'), acme: secretOf(fakeSecret) },
  }
  const effects = ['payment.succeeded', 'payment.failed']
  const providers = {
    shop: {
      ...{ scheme: 'hmac', effects, header: 'x-signature', prefix: 'sha256=', toleranceSeconds: 300 },
      secrets: [{ id: '1', value: { env: 'ONCEHOOK_SHOP_SECRET' } }],
    },
    acme: {
      ...{ scheme: 'standard-webhooks', effects },
      secrets: [
        { id: 'old', value: 'whsec_c29tZXRoaW5nIHRoYXQgaGFzIGV4cGlyZWQ=', notAfter: '2020-01-01T00:00:00Z' },
        { id: 'new', value: { env: 'ONCEHOOK_ACME_SECRET' } },
      ],
    },
  }
  await writeFile(join(dataFolder, 'providers.json'), JSON.stringify(providers))
  await writeFile(join(dataFolder, 'running.json'), JSON.stringify(running))
  await writeFile(join(dataFolder, 'secrets.json'), JSON.stringify(secrets))
  return { dataFolder, [Symbol.asyncDispose]: async () => rm(dataFolder, { recursive: true }) }
}
