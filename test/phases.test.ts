import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { limitOf, Phases } from './support/phases.ts'

const LIMITS = { load: 60_000, settled: 20 } as const

function phasesOf(describe = async (): Promise<readonly string[]> => ['Events: 3 pending', 'gateway1: last line']) {
  return new Phases(LIMITS, describe)
}

describe('Phases', () => {
  it('returns the result of a phase', async () => {
    expect(await phasesOf().run('load', async () => 7)).toBe(7)
  })

  it('ends one that hangs, and reports which, what came before it and the current state', async () => {
    const phases = phasesOf()
    await phases.run('load', async () => undefined)
    const hanging = phases.run('settled', () => new Promise(() => undefined))
    await expect(hanging).rejects.toThrow(
      /^In the phase "settled", after \d+\.\d s: It is not over after 0\.02 s\nOver by then: load: \d+\.\d s\nEvents: 3 pending\ngateway1: last line$/,
    )
  })

  it('reports the same for one that fails', async () => {
    const failing = phasesOf().run('load', async () => expect.unreachable('canary'))
    await expect(failing).rejects.toThrow(
      /^In the phase "load", after .+canary.*\nOver by then: nothing\nEvents: 3 pending/,
    )
  })

  it('fails for the reason of the phase even if the state cannot be described', async () => {
    const away = async (): Promise<never> => {
      throw new Error('The engine is gone')
    }
    const hanging = phasesOf(away).run('settled', () => sleep(60_000, undefined, { ref: false }))
    await expect(hanging).rejects.toThrow(/^In the phase "settled".*\n.*\nNobody knows .*: Error: The engine is gone$/)
  })

  it('has a limit that is beyond all phases', () => {
    expect(limitOf(LIMITS, 1_000)).toBe(61_020)
  })
})
