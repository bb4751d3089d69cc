import { MongoClient } from 'mongodb'
import { expect, it } from 'vitest'
import { readPlan } from './plan.ts'
import { type PhaseRun, runPhase } from './run-phase.ts'
import type { Outcome, Trial } from './trial.ts'

const QUIET: Outcome = { figures: { perSecond: 1 }, lost: 0, failed: {}, foreignShare: 0 }

function runOf(trials: Trial[], { rounds = 2, signal = new AbortController().signal } = {}) {
  const client = new MongoClient('mongodb://127.0.0.1:1')
  const database: PhaseRun['setup']['database'] = (name) => client.db(name)
  const said: string[] = []
  return {
    said,
    setup: { mongoUri: '', mongodPid: 0, folder: '', secret: '', nodeFlags: [], database },
    phase: { rows: [], trials, rounds, budgetMs: 60_000 },
    effort: readPlan([], []).effort,
    calibrate: async () => ({ processorMs: 100, diskMs: 50 }),
    say: (line: string) => void said.push(line),
    signal,
  }
}

function trialOf(name: string, outcome: (run: string) => Outcome): Trial {
  return { name, title: name, run: async ({ run }) => outcome(run) }
}

it('runs each trial once per round, in turn, under unique names', async () => {
  const order: string[] = []
  const note = (run: string): Outcome => {
    order.push(run)
    return QUIET
  }
  const run = runOf([trialOf('one', note), trialOf('two', note)])
  await runPhase(run)
  expect(order).toEqual(['one-1-0', 'two-1-0', 'one-2-0', 'two-2-0'])
})

it('repeats a disturbed measurement, at most twice, and keeps its losses', async () => {
  let taken = 0
  const disturbed = (): Outcome => {
    taken += 1
    return taken < 5 ? { ...QUIET, foreignShare: 0.5, lost: 1 } : QUIET
  }
  const run = runOf([trialOf('one', disturbed)], { rounds: 1 })
  const { rounds, repeated } = await runPhase(run)
  expect(rounds).toHaveLength(2)
  expect(rounds[1]).toMatchObject([{ foreignShare: 0, lost: 0 }])
  expect(repeated.map(({ lost }) => lost)).toEqual([1, 1, 1])
  expect(run.said[0]).toMatch(/1 acknowledged and not found; disturbed, so once more$/)
})

it('continues with the others if a trial fails, and says so', async () => {
  const failing = trialOf('failing', () => {
    throw new Error('It ended with 1')
  })
  const run = runOf([failing, trialOf('two', () => QUIET)], { rounds: 1 })
  const { rounds, broken } = await runPhase(run)
  expect(rounds[0]?.map(({ trial }) => trial)).toEqual(['two'])
  expect(broken[0]).toBe('Round 1: failing: It ended with 1')
})

it('ends at once when it is called off', async () => {
  const stop = new AbortController()
  const stopping = trialOf('stopping', () => {
    stop.abort(new Error('Called off'))
    throw new Error('The sender is gone')
  })
  const run = runOf([stopping], { signal: stop.signal })
  await expect(runPhase(run)).rejects.toThrow('Called off')
})
