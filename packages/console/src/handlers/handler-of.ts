import type { ListedEvent } from '../api/operator-client.ts'

/** The name of the handler that is built in. Its tasks name no handler. */
const FULFILMENT = 'fulfilment'

/** The handler of a task. Null if no handler wants the event. */
export function handlerOf({ handler, state }: Pick<ListedEvent, 'handler' | 'state'>): string | null {
  return handler ?? (state === 'unhandled' ? null : FULFILMENT)
}
