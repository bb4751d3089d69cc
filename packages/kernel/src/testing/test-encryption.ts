import { createSecretKey, randomBytes } from 'node:crypto'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Db } from 'mongodb'
import { createEncryption, type Encryption } from '../secrets/encryption.ts'

export const NO_ENCRYPTION: Encryption = createEncryption(() => null)

/** Test keys, created when first used. */
export interface TestKeys {
  /** Encryption with the given keys. The first one encrypts. Without keys, encryption is off. */
  encryption(...ids: string[]): Encryption
  /** The content of a key file with these keys, in order. */
  json(...ids: string[]): string
}

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

export interface TestKeysFile extends AsyncDisposable {
  readonly path: string
  /** Replaces the content with keys of these ids, or with a raw text. */
  write(content: readonly string[] | string): Promise<void>
}

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

/** Makes a database look as if half a minute had passed since a process last changed its first key. */
export async function endLeaving(db: Db): Promise<void> {
  await db.collection<{ users: object[] }>('encryption_keys').updateMany({}, { $pull: { users: { hasLeft: true } } })
}
