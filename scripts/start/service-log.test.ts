import { writeSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { describeLogLine, ServiceLog } from './service-log.ts'

async function log(maxBytes?: number) {
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-log-'))
  const path = join(folder, 'gateway.log')
  const said: string[] = []
  const clock = { now: 1_000_000 }
  const open = () => {
    const options = { service: 'gateway', path, say: (line: string) => said.push(line), now: () => clock.now }
    return new ServiceLog({ ...options, ...(maxBytes === undefined ? {} : { maxBytes }) })
  }
  return { path, said, clock, open, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) }
}

describe('describeLogLine', () => {
  it.each([
    ['{"level":"info","time":"t","service":"gateway","msg":"service.started"}', undefined],
    [
      '{"level":"warn","time":"t","service":"gateway","msg":"webhook.refused","provider":"acme"}',
      'warn webhook.refused {"provider":"acme"}',
    ],
    ['{"level":"error","time":"t","msg":"x"}', 'error x'],
    ['TypeError: x is not a function', 'TypeError: x is not a function'],
    ['{ broken', '{ broken'],
    ['', undefined],
  ])('shows the part of %j that a person should see', (line, shown) => {
    expect(describeLogLine(line)).toBe(shown)
  })
})

describe('ServiceLog', () => {
  it('keeps every line and shows those that matter, however they are cut', async () => {
    await using file = await log()
    const service = file.open()
    writeSync(service.fd, '{"level":"info","msg":"a"}\n{"level":"wa')
    service.poll()
    writeSync(service.fd, 'rn","msg":"b"}\nlast words')
    service.end()
    expect(file.said).toEqual(['[gateway] warn b', '[gateway] last words'])
    expect(await readFile(file.path, 'utf8')).toBe('{"level":"info","msg":"a"}\n{"level":"warn","msg":"b"}\nlast words')
  })

  it('shows twenty lines in ten seconds, then how many more there were', async () => {
    await using file = await log()
    const service = file.open()
    for (let n = 0; n < 25; n += 1) writeSync(service.fd, `{"level":"warn","msg":"${n}"}\n`)
    service.poll()
    expect(file.said).toHaveLength(20)
    file.clock.now += 11_000
    writeSync(service.fd, '{"level":"warn","msg":"later"}\n')
    service.end()
    expect(file.said.slice(20)).toEqual([`[gateway] … and 5 more such lines: see ${file.path}`, '[gateway] warn later'])
  })

  it('starts a new file at each start, and keeps one full file', async () => {
    await using file = await log(10)
    await writeFile(file.path, 'from the last start')
    const service = file.open()
    expect(await readFile(`${file.path}.1`, 'utf8')).toBe('from the last start')
    writeSync(service.fd, 'first, long\n')
    service.poll()
    writeSync(service.fd, 'second\n')
    service.end()
    expect(await readFile(`${file.path}.1`, 'utf8')).toBe('first, long\n')
    expect(await readFile(file.path, 'utf8')).toBe('second\n')
    expect(file.said).toEqual(['[gateway] first, long', '[gateway] second'])
  })
})
