// Turns: what somebody asks of the database runs a few at a time, and the rest waits, so that nobody takes a pool's connections from all others.
import type { Socket } from 'node:net'
import { overloaded } from '@oncehook/webhooks/providers'

/**
 * Creates a queue that runs tasks in the order of their arrival, so many at a time. A task that waits leaves the queue when the
 * connection that it is for is closed.
 * @throws overloaded if the connection was closed, and whatever the task throws
 */
export function createTurns(
  most: number,
): <Result>(task: () => Promise<Result>, connection?: Socket) => Promise<Result> {
  let free = most
  const waiting = new Set<() => void>()
  const wait = (connection?: Socket): Promise<void> =>
    new Promise((resolve, reject) => {
      const leave = (): void => {
        waiting.delete(begin)
        reject(overloaded({ reason: 'connection_closed' }))
      }
      const begin = (): void => {
        waiting.delete(begin)
        connection?.off('close', leave)
        resolve()
      }
      waiting.add(begin)
      connection?.once('close', leave)
    })
  return async (task, connection) => {
    if (free > 0) free -= 1
    else await wait(connection)
    try {
      return await task()
    } finally {
      const [next] = waiting
      if (next === undefined) free += 1
      else next()
    }
  }
}

export type TakeTurn = <Result>(caller: string, task: () => Promise<Result>) => Promise<Result>

/** @throws overloaded if too many tasks of the caller wait already, and whatever the task throws */
export function createTurnsOfEach(most: number, mostWaiting: number): TakeTurn {
  const callers = new Map<string, { readonly takeTurn: ReturnType<typeof createTurns>; open: number }>()
  return async (caller, task) => {
    const own = callers.get(caller) ?? { takeTurn: createTurns(most), open: 0 }
    if (own.open >= most + mostWaiting) {
      throw overloaded({ reason: 'asked_too_much' }, { headers: { 'Retry-After': '1' } })
    }
    own.open += 1
    callers.set(caller, own)
    try {
      return await own.takeTurn(task)
    } finally {
      own.open -= 1
      if (own.open === 0) callers.delete(caller)
    }
  }
}
