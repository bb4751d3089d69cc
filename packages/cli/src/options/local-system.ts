import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { z } from 'zod'
import { CommandFailure } from '../exit-code.ts'

const runningFile = z.object({
  gatewayUrl: z.url(),
  adminUrl: z.url(),
  secretsFile: z.string(),
  // Null if the setting is in the environment of `npm start`.
  providersFile: z.string().nullable(),
  // The variables of the gateway that hold development secrets, and whose.
  secretVariables: z.record(z.string(), z.string()),
  pid: z.int().positive(),
})

const secretsFile = z.object({
  apiTokens: z.record(z.string(), z.string()),
  operatorTokens: z.record(z.string(), z.string()),
  providers: z.record(z.string(), z.object({ secrets: z.array(z.object({ value: z.string() })) })),
})

/** The system that `npm start` runs on this machine, as far as a sender or an operator needs it. */
export interface LocalSystem {
  /** URLs without a trailing slash. */
  readonly gatewayUrl: string
  readonly adminUrl: string
  readonly apiToken: string | undefined
  readonly operatorToken: string | undefined
  readonly secretsFile: string
  /** The providers of its gateway; null if they are in the environment of `npm start`. */
  readonly providersFile: string | null
  /** The development secrets, by the variables that the providers file refers to. */
  readonly developmentSecrets: ReadonlyMap<string, string>
}

/** The message if no gateway is given and none runs locally. */
export const nothingRuns = 'Oncehook is not running here: start it with `npm start` in another terminal'

/**
 * The local system, or null if none runs: its file in the data folder is missing, or its process has ended.
 * @throws CommandFailure if its files cannot be read
 */
export async function findLocalSystem(dataFolder: string): Promise<LocalSystem | null> {
  const running = await readJsonFile(resolve(dataFolder, 'running.json'), runningFile)
  if (running === null || !isAlive(running.pid)) return null
  const path = resolve(dataFolder, running.secretsFile)
  const secrets = await readJsonFile(path, secretsFile)
  if (secrets === null) throw new CommandFailure('The file with the development secrets is missing: restart Oncehook')
  return {
    gatewayUrl: running.gatewayUrl.replace(/\/+$/, ''),
    adminUrl: running.adminUrl.replace(/\/+$/, ''),
    apiToken: Object.values(secrets.apiTokens)[0],
    operatorToken: Object.values(secrets.operatorTokens)[0],
    secretsFile: path,
    providersFile: running.providersFile === null ? null : resolve(dataFolder, running.providersFile),
    developmentSecrets: new Map(
      Object.entries(running.secretVariables).flatMap(([variable, provider]) => {
        const value = secrets.providers[provider]?.secrets[0]?.value
        return value === undefined ? [] : [[variable, value]]
      }),
    ),
  }
}

async function readJsonFile<T extends z.ZodType>(path: string, schema: T): Promise<z.infer<T> | null> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw new CommandFailure(`${path} cannot be read`, { cause: error })
  }
  try {
    return schema.parse(JSON.parse(text))
  } catch (error) {
    throw new CommandFailure(`${path} is not a file that \`npm start\` writes: restart Oncehook`, { cause: error })
  }
}

/** Signal 0 only checks for the process. EPERM means that the process belongs to another user. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
