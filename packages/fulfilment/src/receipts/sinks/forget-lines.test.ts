import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { forgetLines } from './forget-lines.ts'
import { openOnDisk } from './receipt-file.ts'

const folder = await mkdtemp(join(tmpdir(), 'oncehook-forget-'))
afterAll(() => rm(folder, { recursive: true }))

it('erases an incomplete line with the key, even the last one, and keeps the length of the file', async () => {
  const path = join(folder, 'receipts.jsonl')
  const whole = (key: string): string => JSON.stringify({ key, customerId: `cus_${key}`, email: `${key}@example.com` })
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
