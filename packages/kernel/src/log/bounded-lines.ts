// Lines that anybody can cause, as often as they like. Unbounded, a stranger would push all older lines out of a rotated log. In a second, 100 of
// a name are written as they are. The others are counted, and when the second is over each kind gets one line with its number. A stop
// within this second drops the numbers. Names do not share the 100, so that no stranger hides the lines of others.
import type { Logger } from './logger.ts'

const MOST_LINES = 100
const TURN_MS = 1_000

interface Turn {
  lines: number
  readonly counted: Map<string, { times: number; readonly write: (times: number) => void }>
}

const turns = new WeakMap<Logger, Map<string, Turn>>()

/**
 * Writes a line by `one`, or counts it for the line that `many` writes later. The `kind` has nothing in it that a client chooses, so there are
 * few kinds.
 */
export function writeBounded<Kind extends object>(
  logger: Logger,
  name: string,
  kind: Kind,
  { one, many }: { readonly one: () => void; readonly many: (counted: Kind & { readonly times: number }) => void },
): void {
  const turn = turns.get(logger)?.get(name) ?? beginTurn(logger, name)
  turn.lines += 1
  if (turn.lines <= MOST_LINES) {
    one()
    return
  }
  const key = JSON.stringify(kind)
  const counted = turn.counted.get(key) ?? { times: 0, write: (times: number) => many({ ...kind, times }) }
  counted.times += 1
  turn.counted.set(key, counted)
}

function beginTurn(logger: Logger, name: string): Turn {
  const turn: Turn = { lines: 0, counted: new Map() }
  const named = turns.get(logger) ?? new Map<string, Turn>()
  turns.set(logger, named.set(name, turn))
  const end = (): void => {
    named.delete(name)
    for (const { times, write } of turn.counted.values()) write(times)
  }
  setTimeout(end, TURN_MS).unref()
  return turn
}
