import { expect, it } from 'vitest'
import { stablePort } from './stable-port.ts'

it('returns no port twice, even before a server listens there', async () => {
  const ports: number[] = []
  for (let count = 0; count < 500; count += 1) ports.push(await stablePort())
  expect(new Set(ports).size).toBe(500)
})

it('gives each worker ports of its part, below those of outgoing connections', async () => {
  const ports = await Promise.all(['0', '3', '11'].map((id) => stablePort({ VITEST_POOL_ID: id })))
  expect(ports.map((port) => Math.floor((port - 10_000) / 2_000))).toEqual([0, 3, 0])
})
