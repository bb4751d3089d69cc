import { createSecretKey, randomBytes } from 'node:crypto'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createEncryption, type Encryption } from '../encryption.ts'

/** Encryption that is off. */
export const NO_ENCRYPTION: Encryption = createEncryption(() => null)

/** Keys of a test, made when they are first named. */
export interface TestKeys {
  /** Those named, the first of them encrypts; none: encryption is off. */
  encryption(...ids: string[]): Encryption
  /** The content of a file of those named, in their order. */
  json(...ids: string[]): string
}

/** Makes keys by their ids. */
export function createTestKeys(): TestKeys {
  const made = new Map<string, Buffer>()
  const keyOf = (id: string): Buffer => {
    const key = made.get(id) ?? randomBytes(32)
    made.set(id, key)
    return key
  }
  return {
    encryption(...ids) {
      const [first] = ids
      const byId = new Map(ids.map((id) => [id, createSecretKey(keyOf(id))]))
      const key = first === undefined ? undefined : byId.get(first)
      return createEncryption(() =>
        first === undefined || key === undefined ? null : { first: { id: first, key }, byId },
      )
    },
    json: (...ids) => JSON.stringify(Object.fromEntries(ids.map((id) => [id, keyOf(id).toString('base64')]))),
  }
}

/** A file of keys that services watch. */
export interface TestKeysFile extends AsyncDisposable {
  readonly path: string
  /** Replaces the content by keys of these ids, or by a text as it is. */
  write(content: readonly string[] | string): Promise<void>
}

/** Makes a file with keys of these ids. */
export async function createTestKeysFile(...ids: string[]): Promise<TestKeysFile> {
  const keys = createTestKeys()
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-encryption-'))
  const path = join(folder, 'keys.json')
  const write = async (content: readonly string[] | string): Promise<void> => {
    const text = typeof content === 'string' ? content : keys.json(...content)
    await writeFile(`${path}.new`, text)
    await rename(`${path}.new`, path)
  }
  await write(ids)
  return { path, write, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) }
}
