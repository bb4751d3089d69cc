import { appendFile, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SettingsError } from '@oncehook/kernel/settings/settings'
import { afterAll, describe, expect, it } from 'vitest'
import type { Receipt, ReceiptSink } from '../receipt-sink.ts'
import { type Append, createFileSink } from './file-sink.ts'

const folder = await mkdtemp(join(tmpdir(), 'file-sink-'))
afterAll(() => rm(folder, { recursive: true }))

const newPath = () => join(folder, `${crypto.randomUUID()}.jsonl`)
const { signal } = new AbortController()

function receipt(key: string): Receipt {
  const order = { orderId: 'o1', paymentId: 'p1', customerId: 'c1', email: 'a@example.com' }
  return { key, ...order, amount: 300, currency: 'EUR', paidAt: '2026-11-21T10:00:00.000Z' }
}

const sendAll = (sink: ReceiptSink, ...keys: readonly string[]) =>
  Promise.all(keys.map((key) => sink.send(receipt(key), signal)))

async function keysIn(path: string): Promise<string[]> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '')
  return lines.map((line) => (JSON.parse(line) as Receipt).key)
}

/** A disk that the test leads: each append waits for what the test says. */
function ledDisk() {
  const appended: { readonly keys: string[]; readonly end: PromiseWithResolvers<void> }[] = []
  const append: Append = (_, text) => {
    const lines = text.split('\n').filter((line) => line !== '')
    const end = Promise.withResolvers<void>()
    appended.push({ keys: lines.map((line) => (JSON.parse(line) as Receipt).key), end })
    return end.promise
  }
  return { append, appended, sink: createFileSink('', append) }
}

describe('a file sink', () => {
  it('fails what it could not write, and writes it when it is sent again', async () => {
    const { sink, appended } = ledDisk()
    const failing = Promise.allSettled([sendAll(sink, 'a', 'b')])
    await expect.poll(() => appended).toHaveLength(1)
    const later = sendAll(sink, 'c')
    appended[0]?.end.reject(new Error('ENOSPC'))
    expect(await failing).toMatchObject([{ status: 'rejected', reason: { message: 'ENOSPC' } }])
    await expect.poll(() => appended).toHaveLength(2)
    const again = sendAll(sink, 'a')
    appended[1]?.end.resolve()
    await later
    await expect.poll(() => appended).toHaveLength(3)
    appended[2]?.end.resolve()
    await again
    expect(appended.map(({ keys }) => keys)).toEqual([['a', 'b'], ['c'], ['a']])
  })

  it('begins a new line after one that another process tore', async () => {
    const path = newPath()
    await appendFile(path, '{"key":"rcpt_torn')
    const sink = createFileSink(path)
    await sendAll(sink, 'rcpt_0', 'rcpt_1')
    await sink.close()
    const [torn, ...lines] = (await readFile(path, 'utf8')).split('\n')
    expect(torn).toBe('{"key":"rcpt_torn')
    expect(lines).toEqual([JSON.stringify(receipt('rcpt_0')), JSON.stringify(receipt('rcpt_1')), ''])
  })

  it.each([
    ['renamed', (path: string) => rename(path, `${path}.1`)],
    ['removed', (path: string) => rm(path)],
  ])('writes to a new file once the old one is %s', async (_, change) => {
    const path = newPath()
    const sink = createFileSink(path)
    await sendAll(sink, 'rcpt_0')
    await change(path)
    await sendAll(sink, 'rcpt_0', 'rcpt_1')
    expect(await keysIn(path)).toEqual(['rcpt_0', 'rcpt_1'])
  })
})

describe('the check of a file sink', () => {
  const check = (path: string, append?: Append) => createFileSink(path, append).check?.()

  it('makes the file with its folder', async () => {
    const path = join(folder, 'new', 'folder', 'receipts.jsonl')
    await check(path)
    expect(await readFile(path, 'utf8')).toBe('')
  })

  it.each(['file/receipts.jsonl', 'file/new/receipts.jsonl', '.'])('refuses %s, which can be no file', async (path) => {
    await appendFile(join(folder, 'file'), '')
    await expect(check(join(folder, path))).rejects.toThrow(SettingsError)
  })

  const refusing =
    (code: string): Append =>
    async () => {
      throw Object.assign(new Error(`${code}: canary`), { code })
    }

  it.each(['EACCES', 'EROFS', 'ENOENT'])('says at %s what to change, and names no path', async (code) => {
    const refused = check('/canary', refusing(code))
    await expect(refused).rejects.toThrow(`cannot be opened for writing (${code}). Grant this process write access`)
    await expect(refused).rejects.not.toThrow('canary')
  })
})
