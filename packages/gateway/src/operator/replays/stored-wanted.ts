import { type FindWanting, prepareWanting, type WantingHandler } from '../../handlers/events/find-wanting.ts'
import type { ReplayDocument } from './replay-document.ts'

/** What a replay keeps of the settings of its handler. */
export function storeWanted({ events, orderBy }: WantingHandler): string {
  return JSON.stringify({ events, orderBy })
}

/**
 * Decides by what the handler of a replay wanted when the replay was requested. The process that runs it may have read other
 * settings. Undefined if the replay does not say.
 */
export function readWanted({ handler: name, wanted }: ReplayDocument): FindWanting | undefined {
  if (name === undefined || wanted === undefined) return undefined
  const stored = JSON.parse(wanted) as Omit<WantingHandler, 'name'>
  return prepareWanting(new Map([[name, { name, ...stored }]]))
}
