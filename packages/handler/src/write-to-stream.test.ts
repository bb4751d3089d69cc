import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, it, vi } from 'vitest'
import { writeToStream } from './handler-log.ts'
import { LOGGING_PROCESS } from './testing/logging-process.ts'

describe('the log of a handler', () => {
  it('does not end the process when the reader of its standard error goes away', async () => {
    const child = spawn(process.execPath, [LOGGING_PROCESS], { stdio: ['ignore', 'pipe', 'pipe'] })
    const ended = once(child, 'exit')
    const written = text(child.stdout)
    await once(child.stdout, 'data')
    child.stderr.destroy()
    expect(await ended).toEqual([0, null])
    expect(await written).toContain('alive')
  })
})

/** A stream whose reader has stopped until `read`. */
function slowStream() {
  const [texts, waiting] = [[] as string[], [] as (() => void)[]]
  let isRead = false
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, _, done) {
      texts.push(chunk)
      if (isRead) done()
      else waiting.push(done)
    },
  })
  const read = (): void => {
    isRead = true
    for (const done of waiting.splice(0)) done()
  }
  return { stream, texts, read }
}

describe('writeToStream', () => {
  const line = `${'x'.repeat(9_999)}\n`

  it('keeps at most 1 MiB for a slow reader, and writes again when it has caught up', async () => {
    const { stream, texts, read } = slowStream()
    for (let lines = 0; lines < 1_000; lines += 1) writeToStream(stream, line)
    expect(stream.writableLength).toBeGreaterThan(1_000_000)
    expect(stream.writableLength).toBeLessThanOrEqual(1_048_576)
    read()
    await expect.poll(() => stream.writableLength).toBe(0)
    const written = texts.length
    writeToStream(stream, line)
    expect(texts).toHaveLength(written + 1)
  })

  it('adds one listener to a stream, and removes none of the application', () => {
    const { stream } = slowStream()
    const own = vi.fn()
    stream.on('error', own)
    for (let lines = 0; lines < 20; lines += 1) writeToStream(stream, line)
    expect(stream.listenerCount('error')).toBe(2)
    stream.emit('error', new Error('EPIPE'))
    expect(own).toHaveBeenCalledTimes(1)
  })
})
