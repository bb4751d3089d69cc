import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { createEncryptionKeysSource } from '../secrets/encryption-keys.ts'
import { settingsProblems } from '../testing/settings-problems.ts'
import { watchSource } from './file-source.ts'

describe('createFileSource', () => {
  it('names the variable with the file in its errors, at the start and after a change', () => {
    const folder = mkdtempSync(join(tmpdir(), 'file-source-'))
    using _removed = { [Symbol.dispose]: () => rmSync(folder, { recursive: true }) }
    const ENCRYPTION_KEYS_FILE = join(folder, 'keys.json')
    const key = Buffer.from('a key of encryption, of 32 bytes').toString('base64')
    writeFileSync(ENCRYPTION_KEYS_FILE, JSON.stringify({ first: key }))
    const source = createEncryptionKeysSource({ ENCRYPTION_KEYS_FILE })
    const onRefused = vi.fn()
    const watched = watchSource(source, { onChanged: () => undefined, onRefused })
    writeFileSync(ENCRYPTION_KEYS_FILE, JSON.stringify({ first: key, second: key }))
    watched.check()
    const problem = 'ENCRYPTION_KEYS_FILE.second is the same as ENCRYPTION_KEYS_FILE.first'
    expect(onRefused.mock.calls).toEqual([[[problem]]])
    expect(settingsProblems(() => source.read())).toEqual([problem])
    const direct = createEncryptionKeysSource({ ENCRYPTION_KEYS: '{}' })
    expect(settingsProblems(() => direct.read())).toEqual([expect.stringMatching(/^ENCRYPTION_KEYS must be/)])
  })
})
