import type { WriteResult } from '@oncehook/kernel/mongo/write-outcome'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { GROUP_LIMITS, GroupCommit } from './group-commit.ts'

/** A command that the test answers when it chooses. */
interface Command {
  readonly members: readonly string[]
  answer(verdicts?: readonly WriteResult[]): void
  fail(): void
}

/** A group commit whose commands the test answers, and the commands so far. */
function openGroupCommit(limits: Partial<typeof GROUP_LIMITS> = {}) {
  const commands: Command[] = []
  let inFlight = 0
  let mostInFlight = 0
  const clock = { now: 0 }
  const writeGroup = async (members: string[]) => {
    const { promise, resolve, reject } = Promise.withResolvers<readonly WriteResult[]>()
    inFlight += 1
    mostInFlight = Math.max(mostInFlight, inFlight)
    commands.push({
      members,
      answer: (verdicts = members.map(() => 'stored')) => resolve(verdicts),
      fail: () => reject(new Error('The connection broke')),
    })
    return promise.finally(() => {
      inFlight -= 1
    })
  }
  const group = new GroupCommit<string>(writeGroup, () => clock.now, { ...GROUP_LIMITS, ...limits })
  return { group, commands, clock, mostInFlight: () => mostInFlight }
}

/** Runs everything that can run before a command is answered. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

async function answerAll(commands: readonly Command[]): Promise<void> {
  for (let next = 0; ; next += 1) {
    await settle()
    if (commands[next] === undefined) return
    commands[next]?.answer()
  }
}

function makers(name: string, count: number): (() => string)[] {
  return Array.from({ length: count }, (_, index) => () => `${name}${index}`)
}

describe('GroupCommit', () => {
  it('has one command in flight: later records share the next one', async () => {
    const { group, commands, mostInFlight } = openGroupCommit()
    const verdicts = [group.write('first', 1)]
    await settle()
    for (const member of ['b', 'c', 'd']) {
      verdicts.push(group.write(member, 1))
      await settle()
    }
    expect(commands).toHaveLength(1)
    expect(group.waiting).toBe(4)
    await answerAll(commands)
    await Promise.all(verdicts)
    expect(commands.map(({ members }) => members)).toEqual([['first'], ['b', 'c', 'd']])
    expect(mostInFlight()).toBe(1)
    expect(group.waiting).toBe(0)
  })

  it('gives everybody their own verdict', async () => {
    const { group, commands } = openGroupCommit()
    const verdicts = Promise.all(['a', 'b', 'c'].map((member) => group.write(member, 1)))
    await settle()
    commands[0]?.answer(['duplicate', 'stored', 'unknown'])
    expect(await verdicts).toEqual(['duplicate', 'stored', 'unknown'])
  })

  it('says unknown to the whole group when the command fails, and serves the next group', async () => {
    const { group, commands } = openGroupCommit()
    const first = Promise.all([group.write('a', 1), group.write('b', 1)])
    await settle()
    const second = group.write('c', 1)
    commands[0]?.fail()
    expect(await first).toEqual(['unknown', 'unknown'])
    await settle()
    commands[1]?.answer()
    expect(await second).toBe('stored')
  })

  it('refuses records at once that do not fit into its memory, and accepts more when there is room again', async () => {
    const { group, commands } = openGroupCommit({ maxWaitingBytes: 10 })
    const held = [group.write('a', 6), group.write('b', 4)]
    expect(await group.write('beyond', 1)).toBe('unknown')
    await answerAll(commands)
    await Promise.all(held)
    const next = group.write('c', 10)
    await settle()
    commands.at(-1)?.answer()
    expect(await next).toBe('stored')
    expect(commands.flatMap(({ members }) => members)).toEqual(['a', 'b', 'c'])
  })

  it('refuses records that have waited too long when the next command starts, and keeps later ones', async () => {
    const { group, commands, clock } = openGroupCommit({ maxWaitMs: 5_000 })
    const verdicts = [group.write('a', 1)]
    await settle()
    verdicts.push(group.write('late', 1))
    clock.now = 4_000
    verdicts.push(group.write('in time', 1))
    clock.now = 5_001
    await answerAll(commands)
    expect(await Promise.all(verdicts)).toEqual(['stored', 'unknown', 'stored'])
    expect(commands.map(({ members }) => members)).toEqual([['a'], ['in time']])
    expect(group.waiting).toBe(0)
  })

  it('lets the members of a batch wait for room, and leaves half of it to those that come alone', async () => {
    const { group, commands } = openGroupCommit({ maxWaitingBytes: 20 })
    const batch = group.writeBatch(makers('m', 25), { bytes: 2, endsAt: 1_000 })
    await settle()
    expect(group.waiting).toBe(25)
    const single = group.write('single', 10)
    expect(await group.write('beyond', 1)).toBe('unknown')
    await answerAll(commands)
    expect(await batch).toEqual(Array(25).fill('stored'))
    expect(await single).toBe('stored')
    expect(commands.map(({ members }) => members.length)).toEqual([5, 1, 5, 5, 5, 5])
    expect(commands.flatMap(({ members }) => members)).toEqual([
      ...makers('m', 5).map((make) => make()),
      'single',
      ...makers('m', 25)
        .slice(5)
        .map((make) => make()),
    ])
    expect(group.waiting).toBe(0)
  })

  it('includes a record that arrives after a large batch in the next command, not after the batch', async () => {
    const { group, commands } = openGroupCommit({ maxMembersOfBatch: 3 })
    const batch = group.writeBatch(makers('m', 9), { bytes: 1, endsAt: 1_000 })
    await settle()
    const single = group.write('single', 1)
    await answerAll(commands)
    expect(await single).toBe('stored')
    await batch
    expect(commands.map(({ members }) => members)).toEqual([
      ['m0', 'm1', 'm2'],
      ['single', 'm3', 'm4', 'm5'],
      ['m6', 'm7', 'm8'],
    ])
  })

  it('gives batches their turns when there is not room for all', async () => {
    const { group, commands } = openGroupCommit({ maxMembersOfBatch: 2, maxWaitingBytes: 6 })
    const batches = ['a', 'b', 'c'].map((name) => group.writeBatch(makers(name, 3), { bytes: 1, endsAt: 1_000 }))
    await answerAll(commands)
    expect(await Promise.all(batches)).toEqual(batches.map(() => Array(3).fill('stored')))
    expect(commands.map(({ members }) => members)).toEqual([
      ['a0', 'a1', 'b0'],
      ['b1', 'b2', 'c0'],
      ['c1', 'c2', 'a2'],
    ])
  })

  it('makes the members of a batch when they enter the queue, and none after its time', async () => {
    const { group, commands, clock } = openGroupCommit({ maxMembersOfBatch: 2 })
    const made: string[] = []
    const all = makers('m', 5).map((make) => () => {
      made.push(make())
      return make()
    })
    const batch = group.writeBatch(all, { bytes: 1, endsAt: 1_000 })
    await settle()
    expect(made).toEqual(['m0', 'm1'])
    clock.now = 1_001
    commands[0]?.answer(['stored', 'duplicate'])
    expect(await batch).toEqual(['stored', 'duplicate', 'unknown', 'unknown', 'unknown'])
    expect(made).toHaveLength(2)
    expect(group.waiting).toBe(0)
  })

  it('loses nothing, sends nothing twice and keeps the order, whatever the order of arrival', async () => {
    const size = fc.oneof(fc.nat(20), fc.integer({ min: 90, max: 300 }))
    const limits = {
      ...{ maxMembers: 4, maxBytes: 120, aloneBytes: 100, maxWaitingBytes: 1_000, maxWaitMs: 1_000 },
      maxMembersOfBatch: 2,
    }
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(size, { maxLength: 12 }), { maxLength: 8 }), async (bursts) => {
        const { group, commands, mostInFlight } = openGroupCommit(limits)
        const sizes = new Map<string, number>()
        const written: Promise<readonly [string, WriteResult]>[] = []
        let answered = 0
        for (const [burst, members] of bursts.entries()) {
          for (const [index, bytes] of members.entries()) {
            const name = `${burst}.${index}`
            sizes.set(name, bytes)
            written.push(group.write(name, bytes).then((verdict) => [name, verdict] as const))
          }
          await settle()
          commands[answered]?.answer()
          if (commands[answered] !== undefined) answered += 1
        }
        for (; ; answered += 1) {
          await settle()
          if (commands[answered] === undefined) break
          commands[answered]?.answer()
        }
        const verdicts = new Map(await Promise.all(written))
        const sent = commands.flatMap(({ members }) => members)
        expect(sent).toEqual([...verdicts].filter(([, verdict]) => verdict === 'stored').map(([name]) => name))
        expect(verdicts.size).toBe(sizes.size)
        expect(mostInFlight()).toBeLessThanOrEqual(1)
        for (const { members } of commands) {
          const bytes = members.map((name) => sizes.get(name) ?? 0)
          expect(members.length).toBeLessThanOrEqual(limits.maxMembers)
          if (members.length > 1) {
            expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(limits.maxBytes)
            expect(Math.max(...bytes)).toBeLessThanOrEqual(limits.aloneBytes)
          }
        }
        expect(group.waiting).toBe(0)
      }),
      { numRuns: 60 },
    )
  })
})
