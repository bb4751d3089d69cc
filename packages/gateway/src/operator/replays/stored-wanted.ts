import { type FindWanting, prepareWanting, type WantingHandler } from '../../handlers/events/find-wanting.ts'
import { toTask } from '../../inbox/tasks/split-arrival.ts'
import type { ReplayDocument } from './replay-document.ts'

/** What a replay keeps of the settings of its handler. */
export function storeWanted({ events, orderBy }: WantingHandler): string {
  return JSON.stringify({ events, orderBy })
}

/**
 * Decides by what the handler of a replay wanted when the replay was requested. The process that runs it may have read other
 * settings. Undefined if the replay has no handler.
 */
export function readWanted({ handler: name, wanted }: ReplayDocument): FindWanting | undefined {
  if (name === undefined || wanted === undefined) return undefined
  const stored = JSON.parse(wanted) as Omit<WantingHandler, 'name'>
  return prepareWanting(new Map([[name, { name, ...stored }]]))
}

/** Finds the handlers that wanted an event and want it now, with their lines at the request. */
export function findWantedTwice(
  atRequest: FindWanting | undefined,
  now: FindWanting | undefined,
): FindWanting | undefined {
  if (atRequest === undefined || now === undefined) return undefined
  return (delivery) => {
    const [findThen, findNow] = [atRequest(delivery), now(delivery)]
    return (event) => {
      const names = new Set(findNow(event).map((wish) => toTask(wish).handler))
      return findThen(event).filter((wish) => names.has(toTask(wish).handler))
    }
  }
}
