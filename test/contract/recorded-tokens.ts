import { globSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CONTRACTS } from './pact-files.ts'

/** A request of the gateway to fulfilment with its token. */
export interface RecordedToken {
  readonly does: string
  readonly method: string
  readonly procedure: string
  /** The body, or the `input` of the query. */
  readonly input: string
  readonly token: string
}

/** The tokens of one release of the gateway. They were all issued at one time, with one key. */
export interface RecordedTokens {
  readonly consumer: string
  readonly provider: string
  /** It verifies them. PEM. */
  readonly publicKey: string
  /** Milliseconds since 1970. */
  readonly issuedAt: number
  readonly tokens: readonly RecordedToken[]
}

const NAME = 'service-tokens.json'

/** The files of recorded tokens: the current one, then those of the releases. */
export function tokenFiles(): string[] {
  return globSync([NAME, `releases/*/${NAME}`], { cwd: CONTRACTS }).toSorted((a, b) => a.length - b.length)
}

/** Reads a file of recorded tokens. */
export async function readTokens(name = NAME): Promise<RecordedTokens> {
  return JSON.parse(await readFile(join(CONTRACTS, name), 'utf8'))
}

/** Makes these tokens the current ones. */
export async function commitTokens(tokens: RecordedTokens): Promise<void> {
  await writeFile(join(CONTRACTS, NAME), `${JSON.stringify(tokens, null, 2)}\n`)
}
