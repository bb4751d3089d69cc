import { Socket } from 'node:net'
import { expect, it } from 'vitest'
import { createTurns, createTurnsOfEach } from './turns.ts'

it('tasks run a few at a time, in the order of their arrival, and a failure makes room', async () => {
  const takeTurn = createTurns(2)
  const begun: number[] = []
  const gates = Array.from({ length: 4 }, () => Promise.withResolvers<void>())
  const tasks = gates.map(({ promise }, task) =>
    takeTurn(() => {
      begun.push(task)
      return promise
    }),
  )
  const settled = Promise.allSettled(tasks)
  expect(begun).toEqual([0, 1])
  gates[1]?.reject(new Error('the database is away'))
  await expect.poll(() => begun).toEqual([0, 1, 2])
  for (const gate of gates) gate.resolve()
  expect((await settled).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
  expect(begun).toEqual([0, 1, 2, 3])
})

it('a task leaves the queue when its connection is closed, so that closed ones hold up nobody', async () => {
  const takeTurn = createTurns(1)
  const gate = Promise.withResolvers<void>()
  const first = takeTurn(() => gate.promise)
  const [gone, waits] = [new Socket(), new Socket()]
  const begun: string[] = []
  const left = takeTurn(async () => void begun.push('gone'), gone)
  const next = takeTurn(async () => void begun.push('waits'), waits)
  gone.destroy()
  await expect(left).rejects.toMatchObject({ code: 'overloaded' })
  gate.resolve()
  await Promise.all([first, next])
  expect(begun).toEqual(['waits'])
  expect(waits.listenerCount('close')).toBe(0)
})

it('each caller has turns of its own, and is refused when too many of its tasks wait', async () => {
  const takeTurn = createTurnsOfEach(1, 2)
  const gate = Promise.withResolvers<void>()
  const ask = (caller: string) => takeTurn(caller, () => gate.promise.then(() => caller))
  const taken = [ask('alice'), ask('alice'), ask('alice')]
  await expect(ask('alice')).rejects.toMatchObject({ code: 'overloaded', headers: { 'Retry-After': '1' } })
  const others = ask('bob')
  gate.resolve()
  expect(await Promise.all([...taken, others])).toEqual(['alice', 'alice', 'alice', 'bob'])
  expect(await ask('alice')).toBe('alice')
})
