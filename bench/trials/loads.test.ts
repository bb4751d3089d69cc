import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { MongoClient } from 'mongodb'
import { describe, expect, it } from 'vitest'
import type { Setup, StartReceiver } from '../receivers/receiver.ts'
import type { Effort, TrialRun } from '../trial.ts'
import { createForgedTrial } from './forged-trial.ts'
import { createClosedTrial, createWholeWayTrial } from './load-trials.ts'

// Receivers without a database: these tests check what the trials report about them, not how fast they are.

const client = new MongoClient('mongodb://127.0.0.1:1')
const setup: Setup = {
  mongoUri: '',
  mongodPid: process.pid,
  folder: '',
  secret: 'whsec_of_a_test_and_nothing_else',
  database: (name) => client.db(name),
}
const effort: Effort = { connections: 4, warmUpMs: 100, measureMs: 100, accepts: 1, backlog: 1 }
const given = { setup, run: 'test', effort, signal: new AbortController().signal } satisfies TrialRun

/** Gives the configured answers, and reports the configured ids as kept. */
function subjectThat(status: () => number, keep: (ids: readonly string[]) => readonly string[]): StartReceiver {
  return async () => {
    const server = createServer((request, response) => {
      request.resume().on('end', () => response.writeHead(status(), { 'content-length': 0 }).end())
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      receiverPid: process.pid,
      keptOf: async (ids) => new Set(keep(ids)),
      async [Symbol.asyncDispose]() {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      },
    }
  }
}

const names = { name: 'test', title: 'A test' }

describe('a load on a receiver', () => {
  it('notices acknowledged deliveries that a receiver did not keep, also in the warm-up', async () => {
    const asked: number[] = []
    const forgetful = subjectThat(
      () => 200,
      (ids) => {
        asked.push(ids.length)
        return ids.slice(5)
      },
    )
    const outcome = await createClosedTrial({ ...names, start: forgetful }).run(given)
    expect(outcome.lost).toBe(5)
    expect(asked.at(-1)).toBeGreaterThan(asked[0]!)
  })

  it('counts what was acknowledged and kept, and no refusal as accepted', async () => {
    let taken = 0
    const refusing = subjectThat(
      () => (++taken % 2 === 0 ? 503 : 200),
      (ids) => ids,
    )
    const trial = createWholeWayTrial({ ...names, start: refusing, perSecond: 100 })
    const { failed, lost, figures } = await trial.run(given)
    expect(failed).toEqual({ '503': 5 })
    expect(lost).toBe(0)
    expect(figures.perSecond).toBeGreaterThan(0)
  })
})

describe('a trial with forgeries', () => {
  it('refuses to continue with a receiver that accepts them', async () => {
    const start = subjectThat(
      () => 200,
      (ids) => ids,
    )
    const forged = { ...names, start, perSecond: 20, forgedForEach: 2, forgedBytes: 1_024 }
    await expect(createForgedTrial(forged).run(given)).rejects.toThrow('A forged delivery was accepted')
  })
})
