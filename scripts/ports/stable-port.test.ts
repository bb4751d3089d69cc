import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { stablePort } from './stable-port.ts'

const OTHER_PROCESS = `
  import { stablePort } from ${JSON.stringify(import.meta.resolve('./stable-port.ts'))}
  const ports = []
  while (ports.length < 1_000) ports.push(await stablePort())
  process.once('disconnect', () => process.exit()).send(ports)
`

it('returns no port twice, to no process, even before a server listens there', async () => {
  const other = spawn(process.execPath, ['--input-type=module', '--eval', OTHER_PROCESS], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const ended = once(other, 'exit')
  try {
    const [ports] = (await once(other, 'message')) as [number[]]
    while (ports.length < 2_000) ports.push(await stablePort())
    expect(new Set(ports).size).toBe(2_000)
  } finally {
    other.disconnect()
    await ended
  }
})

it('returns ports below those of outgoing connections', async () => {
  const port = await stablePort()
  expect(port).toBeGreaterThanOrEqual(10_000)
  expect(port).toBeLessThan(32_000)
})
