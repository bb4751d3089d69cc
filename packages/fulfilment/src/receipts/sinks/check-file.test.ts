import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SettingsError } from '@oncehook/kernel/settings'
import { afterAll, describe, expect, it } from 'vitest'
import { checkFile } from './check-file.ts'
import { type OpenReceiptFile, openOnDisk } from './receipt-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'check-file-'))
afterAll(() => rmSync(folder, { recursive: true }))
writeFileSync(join(folder, 'file'), '')

/** A file system that fails with a code. */
const refusing =
  (code: string): OpenReceiptFile =>
  async () => {
    throw Object.assign(new Error(`${code}: canary`), { code })
  }

describe('checkFile', () => {
  it('makes the file with its folder', async () => {
    const path = join(folder, 'new', 'folder', 'receipts.jsonl')
    await checkFile(path, openOnDisk)
    expect(existsSync(path)).toBe(true)
  })

  it.each(['file/receipts.jsonl', 'file/new/receipts.jsonl', '.'])('refuses %s, which can be no file', async (path) => {
    await expect(checkFile(join(folder, path), openOnDisk)).rejects.toThrow(SettingsError)
  })

  it.each(['EACCES', 'EROFS', 'ENOENT'])('says at %s what to change, and names no path', async (code) => {
    const refused = checkFile('/canary', refusing(code))
    await expect(refused).rejects.toThrow(`cannot be opened for writing (${code}). Grant this process write access`)
    await expect(refused).rejects.not.toThrow('canary')
  })

  it.each(['ENOSPC', 'EIO', 'EMFILE', 'ESTALE'])('lets %s pass: the disk may recover', async (code) => {
    await checkFile('/canary', refusing(code))
  })
})
