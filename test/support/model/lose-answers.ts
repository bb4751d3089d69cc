import { type Db, type Document, MongoNetworkError } from 'mongodb'

/** The ids of events begin with this if the answer to their first insert is lost. */
export const LOST_ANSWER = 'evt_lost_'

/** Loses the answer to the first insert of each event whose id says so. The database has made the insert. */
export function loseAnswers(db: Db): Db {
  const lost = new Set<string>()
  return new Proxy(db, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (name !== 'command') return value.bind(target)
      return async (command: Document, ...rest: unknown[]): Promise<unknown> => {
        const reply: unknown = await Reflect.apply(value, target, [command, ...rest])
        const documents: readonly { readonly eventId?: string }[] = command.insert === 'events' ? command.documents : []
        const ids = documents.flatMap(({ eventId = '' }) => (eventId.startsWith(LOST_ANSWER) ? [eventId] : []))
        if (ids.every((id) => lost.has(id))) return reply
        for (const id of ids) lost.add(id)
        throw new MongoNetworkError('The answer was lost')
      }
    },
  })
}
