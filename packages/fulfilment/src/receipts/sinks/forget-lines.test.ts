import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it, onTestFinished, vi } from 'vitest'
import { tryLock } from './file-lock.ts'
import { forgetLines } from './forget-lines.ts'
import { type OpenFile, type OpenReceiptFile, openOnDisk } from './receipt-file.ts'

const folder = await mkdtemp(join(tmpdir(), 'oncehook-forget-'))
afterAll(() => rm(folder, { recursive: true }))

const whole = (key: string): string =>
  JSON.stringify({ key, orderId: 'o', customerId: `cus_${key}`, email: `${key}@example.com`, amount: 300 })

it('erases an incomplete line with the key, even the last one, and keeps the length of the file', async () => {
  const path = join(folder, 'receipts.jsonl')
  const torn = whole('k1').slice(0, -3)
  const before = [torn, whole('k2'), whole('k1'), 'no receipt', torn].join('\n')
  await writeFile(path, before)
  await forgetLines({ path, openFile: openOnDisk }, ['k1'])
  const after = await readFile(path, 'utf8')
  expect(after).not.toContain('cus_k1')
  expect(after).not.toContain('k1@')
  expect(after.length).toBe(before.length)
  const blank = ' '.repeat(torn.length)
  expect(after.split('\n')).toMatchObject([blank, whole('k2'), expect.stringContaining('"k1"'), 'no receipt', blank])
})

it('searches only torn lines for the keys, and leaves the lock free while it looks for lines', async () => {
  const path = join(folder, 'long.jsonl')
  const lines = Array.from({ length: 10_000 }, (_, index) => whole(`k${index}`))
  lines[5_000] = whole('k5000').slice(0, -3)
  await writeFile(path, lines.map((line) => `${line}\n`).join(''))
  const { dev, ino, size } = await stat(path)
  let readUnderLock = 0
  const openFile: OpenReceiptFile = async (...args) => {
    const file = await openOnDisk(...args)
    const read = async (...into: [Buffer, number, number, number]) => {
      const result = await file.read(...into)
      const lock = await tryLock(`oncehook-receipts-${dev}-${ino}`)
      if (lock === null) readUnderLock += result.bytesRead
      await lock?.[Symbol.asyncDispose]()
      return result
    }
    return {
      ...{ stat: file.stat.bind(file), write: file.write.bind(file), datasync: file.datasync.bind(file) },
      ...{ read: read as OpenFile['read'], close: file.close.bind(file) },
    }
  }
  const searches = vi.spyOn(Buffer.prototype, 'includes')
  onTestFinished(() => searches.mockRestore())
  const keys = Array.from({ length: 100 }, (_, index) => `k${index * 100}`)
  await forgetLines({ path, openFile }, keys)
  expect(searches.mock.calls.length).toBeLessThan(1_000)
  expect(readUnderLock).toBeLessThan(20_000)
  const after = (await readFile(path, 'utf8')).trimEnd().split('\n')
  for (const [index, line] of after.entries()) {
    if (index % 100 > 0) expect(line).toBe(lines[index])
    else expect(line).not.toContain('cus_')
  }
  expect((await stat(path)).size).toBe(size)
})

it('erases a line that was torn when it began, and what is appended meanwhile', async () => {
  const path = join(folder, 'growing.jsonl')
  await writeFile(path, `${whole('k1')}\n${whole('k2').slice(0, -3)}`)
  let isGrown = false
  const openFile: OpenReceiptFile = async (...args) => {
    const file = await openOnDisk(...args)
    const read = async (...into: [Buffer, number, number, number]) => {
      const result = await file.read(...into)
      if (!isGrown) await writeFile(path, `\n${whole('k1')}\n${whole('k3')}\n`, { flag: 'a' })
      isGrown = true
      return result
    }
    return {
      ...{ stat: file.stat.bind(file), write: file.write.bind(file), datasync: file.datasync.bind(file) },
      ...{ read: read as OpenFile['read'], close: file.close.bind(file) },
    }
  }
  await forgetLines({ path, openFile }, ['k1', 'k2'])
  const after = await readFile(path, 'utf8')
  expect(after).not.toMatch(/cus_k[12]|k[12]@/)
  expect(after.split('\n')).toMatchObject([
    expect.stringContaining('"k1"'),
    ' '.repeat(whole('k2').length - 3),
    expect.stringContaining('"k1"'),
    whole('k3'),
    '',
  ])
})

it('has nothing to erase if there is no file', async () => {
  await forgetLines({ path: join(folder, 'none.jsonl'), openFile: openOnDisk }, ['k1'])
})
