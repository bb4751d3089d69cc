import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { IN_LINE_DUE_AT } from '../task.ts'
import { decideTurns, type Front } from './turns.ts'

interface Task {
  readonly _id: number
  readonly line: string
  state: 'pending' | 'processing' | 'dead' | 'done'
  dueAt: Date
}

const NOW = new Date('2026-11-26T10:00:00Z')

/** The first open task of each line, as the database finds it: tasks are numbered in the order of their lines. */
function frontsOf(tasks: readonly Task[], blockOnDead: boolean): ReadonlyMap<string, Front<number>> {
  const open = tasks.filter(({ state }) => state !== 'done' && (state !== 'dead' || blockOnDead))
  return new Map(open.toReversed().map((task) => [task.line, task]))
}

function hasId(woken: readonly { readonly _id: number }[], id: number): boolean {
  return woken.some(({ _id }) => _id === id)
}

function isBefore(task: Task, blockOnDead: boolean): (other: Task) => boolean {
  const open: readonly string[] = blockOnDead ? ['pending', 'processing', 'dead'] : ['pending', 'processing']
  return (other) => other.line === task.line && other._id < task._id && open.includes(other.state)
}

const anyTasks = fc
  .array(
    fc.record({
      line: fc.constantFrom('a', 'b', 'c'),
      state: fc.constantFrom(
        'pending' as const,
        'pending' as const,
        'processing' as const,
        'dead' as const,
        'done' as const,
      ),
      dueAt: fc.constantFrom(NOW, IN_LINE_DUE_AT),
    }),
    { maxLength: 12 },
  )
  .map((tasks) => tasks.map((task, _id): Task => ({ _id, ...task })))

describe('decideTurns', () => {
  it('claims a task only if no earlier one of its line is open, and at most one of each line', () => {
    fc.assert(
      fc.property(anyTasks, fc.boolean(), (tasks, blockOnDead) => {
        const due = tasks.filter(({ state, dueAt }) => state === 'pending' && dueAt === NOW)
        const { claimable, waiting } = decideTurns(due, frontsOf(tasks, blockOnDead))
        for (const task of claimable) expect(tasks.filter(isBefore(task, blockOnDead))).toEqual([])
        for (const task of waiting) expect(tasks.filter(isBefore(task, blockOnDead))).not.toEqual([])
        expect(new Set(claimable.map(({ line }) => line)).size).toBe(claimable.length)
        expect(claimable.length + waiting.length).toBe(due.length)
      }),
    )
  })

  it('gets through every line in order, whatever happens in between', () => {
    const events = fc.array(fc.constantFrom('done', 'dead', 'later', 'crash', 'search'), { maxLength: 60 })
    fc.assert(
      fc.property(anyTasks, events, (given, script) => {
        const tasks = given.map((task): Task => ({ ...task, state: 'pending', dueAt: NOW }))
        const ended: Task[] = []
        const search = (): Task[] => {
          const due = tasks.filter(({ state, dueAt }) => state === 'pending' && dueAt === NOW)
          const { claimable, waiting, woken } = decideTurns(due, frontsOf(tasks, false))
          for (const task of waiting) task.dueAt = IN_LINE_DUE_AT
          for (const task of tasks) if (hasId(woken, task._id)) task.dueAt = NOW
          return [...claimable]
        }
        const advance = (): void => {
          const { woken } = decideTurns<number, Task>([], frontsOf(tasks, false))
          for (const task of tasks) if (hasId(woken, task._id)) task.dueAt = NOW
        }
        const run = (how: string): void => {
          for (const task of search()) {
            if (how === 'search' || how === 'later') continue
            ended.push(task)
            task.state = how === 'dead' ? 'dead' : 'done'
            // A process that dies here leaves the rest to the next look at the line.
            if (how !== 'crash') advance()
          }
        }
        script.forEach(run)
        // The sweep, and then nothing goes wrong any more.
        for (let rounds = 0; rounds <= tasks.length; rounds += 1) {
          advance()
          run('done')
        }
        expect(ended).toHaveLength(tasks.length)
        for (const line of ['a', 'b', 'c']) {
          const own = ended.filter((task) => task.line === line).map(({ _id }) => _id)
          expect(own).toEqual(own.toSorted((one, other) => one - other))
        }
      }),
    )
  })
})
