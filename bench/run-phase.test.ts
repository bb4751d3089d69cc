import { MongoClient } from 'mongodb'
import { expect, it } from 'vitest'
import { readPlan } from './plan.ts'
import { type PhaseRun, runPhase } from './run-phase.ts'
import type { Outcome, Trial } from './trial.ts'

const QUIET: Outcome = { figures: { perSecond: 1 }, lost: 0, failed: {}, foreignShare: 0 }

function runOf(trials: Trial[], { rounds = 2, signal = new AbortController().signal } = {}): PhaseRun {
  const client = new MongoClient('mongodb://127.0.0.1:1')
  return {
    setup: { mongoUri: '', mongodPid: 0, folder: '', secret: '', database: (name) => client.db(name) },
    phase: { rows: [], trials, rounds },
    effort: readPlan([]).effort,
    calibrate: async () => ({ processorMs: 100, diskMs: 50 }),
    say: () => undefined,
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
  await runPhase(runOf([trialOf('one', note), trialOf('two', note)]))
  expect(order).toEqual(['one-1', 'two-1', 'one-2', 'two-2'])
})

it('runs more rounds if some were disturbed, at most twice as many', async () => {
  const rounds = async (disturbed: number): Promise<number> => {
    let taken = 0
    const trial = trialOf('one', () => ({ ...QUIET, foreignShare: ++taken <= disturbed ? 0.5 : 0 }))
    return (await runPhase(runOf([trial]))).rounds.length
  }
  expect(await Promise.all([rounds(0), rounds(1), rounds(9)])).toEqual([2, 3, 4])
})

it('continues with the others if a trial fails, and says so', async () => {
  const failing = trialOf('failing', () => {
    throw new Error('It ended with 1')
  })
  const { rounds, broken } = await runPhase(runOf([failing, trialOf('two', () => QUIET)], { rounds: 1 }))
  expect(rounds[0]?.map(({ trial }) => trial)).toEqual(['two'])
  expect(broken).toEqual(['Round 1: failing: It ended with 1'])
})

it('ends at once when it is called off', async () => {
  const stop = new AbortController()
  const stopping = trialOf('stopping', () => {
    stop.abort(new Error('Called off'))
    throw new Error('The sender is gone')
  })
  await expect(runPhase(runOf([stopping], { signal: stop.signal }))).rejects.toThrow('Called off')
})
