import { describe, expect, it } from 'vitest'
import { until } from '../testing/start-dispatcher.ts'
import { Heartbeat } from './heartbeat.ts'

const LEASE_MS = 30

/** A heartbeat on a clock that the test moves. `fails` makes its writes fail, `looks` counts its looks at the clock. */
function openHeartbeat() {
  const state = { now: 0, looks: 0, beats: 0, left: 0, fails: false }
  const errors: unknown[] = []
  const heartbeat = new Heartbeat({
    claims: {
      async beat() {
        if (state.fails) throw new Error('No primary')
        state.beats += 1
      },
      async leave() {
        if (state.fails) throw new Error('No primary')
        state.left += 1
      },
    },
    leaseMs: LEASE_MS,
    random: () => 0,
    now() {
      state.looks += 1
      return state.now
    },
    onError: (error) => errors.push(error),
  })
  return { ...{ heartbeat, state, errors }, [Symbol.asyncDispose]: () => heartbeat.stop() }
}

describe('Heartbeat', () => {
  it('keeps a process from claiming until its first beat is stored, however often that fails', async () => {
    await using opened = openHeartbeat()
    const { heartbeat, state, errors } = opened
    state.fails = true
    expect(heartbeat.isAlive).toBe(false)
    const started = heartbeat.start()
    await until(() => expect(errors.length).toBeGreaterThan(2))
    expect(heartbeat.isAlive).toBe(false)
    state.fails = false
    await started
    expect(heartbeat.isAlive).toBe(true)
  })

  it('beats three times during a lease, and not more often', async () => {
    await using opened = openHeartbeat()
    const { heartbeat, state } = opened
    await heartbeat.start()
    for (const beats of [2, 3, 4]) {
      const looks = state.looks
      await until(() => expect(state.looks).toBeGreaterThan(looks + 3))
      expect(state.beats).toBe(beats - 1)
      state.now += LEASE_MS * 0.3
      await until(() => expect(state.beats).toBe(beats))
    }
    expect(state.now).toBeLessThan(LEASE_MS)
  })

  it('is no longer alive a lease after its last beat', async () => {
    await using opened = openHeartbeat()
    const { heartbeat, state } = opened
    await heartbeat.start()
    state.fails = true
    state.now = LEASE_MS - 1
    expect(heartbeat.isAlive).toBe(true)
    state.now = LEASE_MS
    expect(heartbeat.isAlive).toBe(false)
  })

  it('ends its lease once, if it has one, and ignores that this fails', async () => {
    await using opened = openHeartbeat()
    const { heartbeat, state, errors } = opened
    await heartbeat.end()
    expect(state.left).toBe(0)
    await heartbeat.start()
    await heartbeat.stop()
    await heartbeat.end()
    await heartbeat.end()
    expect(state.left).toBe(1)
    expect(heartbeat.isAlive).toBe(false)
    await using failing = openHeartbeat()
    await failing.heartbeat.start()
    await failing.heartbeat.stop()
    failing.state.fails = true
    await failing.heartbeat.end()
    expect(errors).toEqual([])
    expect(failing.errors).toHaveLength(1)
  })
})
