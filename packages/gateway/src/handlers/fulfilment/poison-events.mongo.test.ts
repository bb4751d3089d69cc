import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestDatabase, testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { KILLER, type MortalOptions } from '../../testing/mortal-dispatcher.ts'
import { openInbox, sampleArrival } from '../../testing/open-inbox.ts'

const SCRIPT = new URL('../../testing/mortal-dispatcher.ts', import.meta.url).pathname

const running = new Set<() => void>()
afterAll(() => {
  for (const end of running) end()
})

/** Runs one dispatcher after the other, as a supervisor does, until `isOver`. Resolves to the number of deaths. */
async function supervise(options: MortalOptions, isOver: () => Promise<boolean>): Promise<number> {
  for (let deaths = 0; ; deaths += 1) {
    const child = spawn(process.execPath, [SCRIPT, JSON.stringify(options)], { stdio: ['ignore', 'ignore', 'inherit'] })
    const end = (): boolean => child.kill('SIGKILL')
    running.add(end)
    const died = once(child, 'exit').then(([code]) => {
      if (code !== null) throw new Error(`The dispatcher ended unexpectedly with ${code}`)
      return 'died' as const
    })
    const over = new AbortController()
    const ended = await Promise.race([died, untilTrue(isOver, over.signal)])
    over.abort()
    end()
    await died
    running.delete(end)
    if (ended === 'over') return deaths
  }
}

/** Looks at the database again and again: what it waits for happens in processes that die. */
async function untilTrue(look: () => Promise<boolean>, signal: AbortSignal): Promise<'over'> {
  while (!signal.aborted && !(await look())) await new Promise((resolve) => setTimeout(resolve, 100))
  return 'over'
}

function optionsFor(database: TestDatabase, limits: Partial<MortalOptions>): MortalOptions {
  const { uri, name } = database
  return {
    ...{ uri: uri.reveal(), database: name, leaseMs: 1_000, maxCrashes: 3, batchSize: 4, concurrency: 16 },
    ...limits,
  }
}

describe.concurrent('an event that kills the gateway', () => {
  it.each([
    ['ten', 10, {}],
    ['fifty, in batches of all, where two starts are the limit', 50, { batchSize: 100, concurrency: 2, maxCrashes: 2 }],
  ])('is dead after MAX_CRASHES, and no innocent one is, beside %s', async (_, count, limits) => {
    await using database = await testDatabase(process.env)
    await using open = await openInbox(database, { admits: () => false })
    const ids = [...Array.from({ length: count }, (_, index) => `e${index}`), KILLER]
    await Promise.all(ids.map((id) => open.inbox.record(sampleArrival(id))))
    const options = optionsFor(database, limits)
    const deaths = await supervise(options, async () => {
      return (await open.events.countDocuments({ state: { $in: ['pending', 'processing'] } })) === 0
    })
    expect(deaths).toBeLessThanOrEqual(options.maxCrashes)
    expect(await open.events.countDocuments({ state: 'done' }), 'innocent ones').toBe(count)
    expect(await open.record(KILLER)).toMatchObject({ state: 'dead', reason: 'worker_died' })
  })
})
