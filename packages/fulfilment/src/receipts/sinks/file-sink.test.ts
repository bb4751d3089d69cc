import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdtemp, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, it } from 'vitest'
import type { Receipt, ReceiptSink } from '../receipt-sink.ts'
import { tryLock } from './file-lock.ts'
import { createFileSink } from './file-sink.ts'
import { type OpenFile, type OpenReceiptFile, openOnDisk } from './receipt-file.ts'

const folder = await mkdtemp(join(tmpdir(), 'file-sink-'))
afterAll(() => rm(folder, { recursive: true }))

const newPath = () => join(folder, `${crypto.randomUUID()}.jsonl`)
const keysFrom = (first: number, count: number) => Array.from({ length: count }, (_, index) => `rcpt_${first + index}`)

function receipt(key: string): Receipt {
  const order = { orderId: 'o1', paymentId: 'p1', customerId: 'c1', email: 'a@example.com' }
  return { key, ...order, amount: 300, currency: 'EUR', paidAt: '2026-11-21T10:00:00.000Z' }
}

/** Sends each key as the worker does, with a time limit per attempt. Returns whether each was sent. */
function sendAll(sink: ReceiptSink, keys: readonly string[], options: { repeated?: boolean; ms?: number } = {}) {
  const { repeated = false, ms = 10_000 } = options
  const sends = keys.map(async (key) => {
    const signal = AbortSignal.timeout(ms)
    const late = once(signal, 'abort').then(() => false)
    return Promise.race([
      late,
      sink.send(receipt(key), { repeated, signal }).then(
        () => true,
        () => false,
      ),
    ])
  })
  return Promise.all(sends)
}

async function keysIn(path: string): Promise<string[]> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '')
  return lines.flatMap((line) => {
    try {
      return [(JSON.parse(line) as Receipt).key]
    } catch {
      return []
    }
  })
}

/** The file system with some of its calls replaced. */
function disk(replace: (file: OpenFile) => Partial<OpenFile>): OpenReceiptFile {
  return async (path, flags) => {
    const file = await openOnDisk(path, flags)
    const own: OpenFile = {
      stat: file.stat.bind(file),
      read: file.read.bind(file),
      write: file.write.bind(file),
      datasync: file.datasync.bind(file),
      close: file.close.bind(file),
    }
    return { ...own, ...replace(own) }
  }
}

describe('a stall of the disk that is longer than an attempt', () => {
  it.each(['write', 'datasync'] as const)('in %s leaves one line for each key', async (call) => {
    const path = newPath()
    const stall = Promise.withResolvers<void>()
    const slow = disk((file) => ({
      [call]: async (...args: [Buffer]) => {
        await stall.promise
        return (file[call] as (...args: unknown[]) => unknown)(...args)
      },
    }))
    const sink = createFileSink(path, slow)
    const [first, second] = [keysFrom(0, 20), keysFrom(20, 20)]
    const tooLate = await Promise.all([sendAll(sink, first, { ms: 50 }), sendAll(sink, second, { ms: 50 })])
    expect(tooLate.flat()).toEqual(Array(40).fill(false))
    expect(new Set(await sendAll(sink, [...first, ...second], { repeated: true, ms: 50 }))).toEqual(new Set([false]))
    const again = sendAll(sink, [...first, ...second], { repeated: true })
    stall.resolve()
    expect(await again).toEqual(Array(40).fill(true))
    await sink.close()
    expect((await keysIn(path)).toSorted()).toEqual([...first, ...second].toSorted())
  })
})

describe('a line that another process tore', () => {
  it('loses no receipt', async () => {
    const path = newPath()
    const sink = createFileSink(path)
    await sendAll(sink, ['rcpt_0'])
    await appendFile(path, '{"key":"rcpt_torn')
    expect(await sendAll(sink, ['rcpt_1'])).toEqual([true])
    await sink.close()
    expect(await keysIn(path)).toEqual(['rcpt_0', 'rcpt_1'])
  })

  it('loses no receipt if it happens just before the write', async () => {
    const path = newPath()
    let torn = false
    const crowded = disk((file) => ({
      write: (async (...args: [Buffer]) => {
        if (!torn) await appendFile(path, '{"key":"rcpt_torn')
        torn = true
        return file.write(...args)
      }) as OpenFile['write'],
    }))
    const sink = createFileSink(path, crowded)
    expect(await sendAll(sink, ['rcpt_0', 'rcpt_1'])).toEqual([false, true])
    expect(await sendAll(sink, ['rcpt_0'], { repeated: true })).toEqual([true])
    await sink.close()
    expect((await keysIn(path)).toSorted()).toEqual(['rcpt_0', 'rcpt_1'])
  })
})

describe('a sync that fails', () => {
  it('leaves nothing for sent that may not be on disk: the same bytes are written again to the same place', async () => {
    const path = newPath()
    const writes: (number | undefined)[] = []
    let failures = 1
    const failing = disk((file) => ({
      async datasync() {
        failures -= 1
        if (failures >= 0) throw Object.assign(new Error('EIO'), { code: 'EIO' })
        await file.datasync()
      },
      write: (async (...args: [Buffer, number?, number?, number?]) => {
        writes.push(args[3])
        return file.write(...(args as [Buffer]))
      }) as OpenFile['write'],
    }))
    const sink = createFileSink(path, failing)
    expect(await sendAll(sink, ['rcpt_0', 'rcpt_1'])).toEqual([false, false])
    expect(await sendAll(sink, ['rcpt_0', 'rcpt_1'], { repeated: true })).toEqual([true, true])
    await sink.close()
    expect(await keysIn(path)).toEqual(['rcpt_0', 'rcpt_1'])
    expect(writes).toEqual([undefined, 0])
  })
})

describe('a file that somebody else', () => {
  it.each([
    ['empties', (path: string) => truncate(path, 0)],
    ['shortens', async (path: string) => truncate(path, (await readFile(path, 'utf8')).indexOf('\n') + 1)],
    ['renames', (path: string) => rename(path, `${path}.1`)],
    ['removes', (path: string) => rm(path)],
  ])('%s takes each later receipt once, under its path', async (_, change) => {
    const path = newPath()
    const sink = createFileSink(path)
    expect(await sendAll(sink, keysFrom(0, 10))).toEqual(Array(10).fill(true))
    await change(path)
    const kept = await keysIn(path).catch(() => [])
    expect(await sendAll(sink, ['rcpt_10'])).toEqual([true])
    expect(await sendAll(sink, ['rcpt_10', 'rcpt_11'], { repeated: true })).toEqual([true, true])
    await sink.close()
    expect(await keysIn(path)).toEqual([...kept, 'rcpt_10', 'rcpt_11'])
  })
})

describe('the lock of a file', () => {
  it('is released while another process is connected to its name', async () => {
    const name = `oncehook-test-${crypto.randomUUID()}`
    const lock = await tryLock(name)
    const stranger = connect({ path: `\0${name}` })
    await once(stranger, 'connect')
    stranger.on('error', () => undefined)
    await lock?.[Symbol.asyncDispose]()
    await using again = await tryLock(name)
    expect(again).not.toBeNull()
    stranger.destroy()
  })
})

describe('repeated receipts', () => {
  it('cost one pass over the file, not one each', async () => {
    const path = newPath()
    const lines = keysFrom(0, 5_000).map((key) => `${JSON.stringify(receipt(key))}\n`)
    await writeFile(path, lines.join(''))
    let bytes = 0
    const counting = disk((file) => ({
      read: (async (...args: Parameters<OpenFile['read']>) => {
        const result = await file.read(...args)
        bytes += result.bytesRead
        return result
      }) as OpenFile['read'],
    }))
    const sink = createFileSink(path, counting)
    for (let first = 4_900; first < 5_300; first += 32) {
      await sendAll(sink, keysFrom(first, Math.min(32, 5_300 - first)), { repeated: true })
    }
    await sink.close()
    expect(await keysIn(path)).toEqual(keysFrom(0, 5_300))
    expect(bytes).toBeLessThan(2 * lines.join('').length)
  })
})

/** A process that stalls in its first write to a file until it gets a signal to continue. */
async function startStalled(path: string, keys: readonly string[]) {
  const script = `
    import { once } from 'node:events'
    import { createFileSink } from './file-sink.ts'
    import { openOnDisk } from './receipt-file.ts'
    const slow = async (path, flags) => {
      const file = await openOnDisk(path, flags)
      const own = Object.fromEntries(['stat', 'read', 'datasync', 'close'].map((name) => [name, file[name].bind(file)]))
      return {
        ...own,
        async write(...args) {
          console.log('stalled')
          await once(process.stdin, 'data')
          return file.write(...args)
        },
      }
    }
    const sink = createFileSink(${JSON.stringify(path)}, slow)
    const receipt = (key) => ({ key, orderId: 'o', paymentId: 'p', customerId: 'c', email: null, amount: 1, currency: 'EUR', paidAt: '' })
    const signal = AbortSignal.timeout(60_000)
    await Promise.all(${JSON.stringify(keys)}.map((key) => sink.send(receipt(key), { repeated: false, signal })))
    await sink.close()
    process.exit(0)`
  const options = { cwd: import.meta.dirname, stdio: ['pipe', 'pipe', 'inherit'] as ['pipe', 'pipe', 'inherit'] }
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], options)
  const ended = once(child, 'exit')
  await once(child.stdout, 'data')
  return {
    child,
    async goOn(): Promise<unknown> {
      child.stdin.write('go on')
      return (await ended)[0]
    },
  }
}

describe('two processes on one file', () => {
  it('write each key once if one of them stalls while the other sends the same receipts', async () => {
    const path = newPath()
    const keys = keysFrom(0, 40)
    const { child, goOn } = await startStalled(path, keys)
    const sink = createFileSink(path)
    expect(new Set(await sendAll(sink, keys, { repeated: true, ms: 300 }))).toEqual(new Set([false]))
    child.kill('SIGSTOP')
    expect(new Set(await sendAll(sink, keys, { repeated: true, ms: 300 }))).toEqual(new Set([false]))
    const again = sendAll(sink, [...keys, 'rcpt_40'], { repeated: true, ms: 30_000 })
    child.kill('SIGCONT')
    expect(await goOn()).toBe(0)
    expect(new Set(await again)).toEqual(new Set([true]))
    await sink.close()
    expect((await keysIn(path)).toSorted()).toEqual([...keys, 'rcpt_40'].toSorted())
  })

  it('write each key once, even if one takes over receipts that the other has begun', async () => {
    const path = newPath()
    const script = `
      import { createFileSink } from './file-sink.ts'
      const sink = createFileSink(${JSON.stringify(path)})
      const receipt = (key) => ({ key, orderId: 'o', paymentId: 'p', customerId: 'c', email: null, amount: 1, currency: 'EUR', paidAt: '' })
      for (let first = 0; first < 640; first += 32) {
        const keys = Array.from({ length: 32 }, (_, index) => 'rcpt_' + (first + index))
        const signal = AbortSignal.timeout(30_000)
        await Promise.all(keys.map((key) => sink.send(receipt(key), { repeated: true, signal })))
      }
      await sink.close()`
    const run = async (): Promise<unknown> => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
        cwd: import.meta.dirname,
        stdio: ['ignore', 'inherit', 'pipe'],
      })
      const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
      return { stderr, code }
    }
    expect(await Promise.all([run(), run()])).toEqual(Array(2).fill({ stderr: '', code: 0 }))
    expect((await keysIn(path)).toSorted()).toEqual(keysFrom(0, 640).toSorted())
  })
})
