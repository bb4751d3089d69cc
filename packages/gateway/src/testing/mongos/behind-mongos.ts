import { Secret } from '@oncehook/kernel/secret'
import { startOldMongos } from '@oncehook/kernel/testing/old-mongos'
import { type TestDatabase, testDatabase } from '@oncehook/kernel/testing/test-database'
import type { Document } from 'mongodb'
import { EVENTS } from '../../inbox/event-document.ts'

/** Opens a database that is reached through what claims to be a mongos. */
export async function openBehindMongos(env: NodeJS.ProcessEnv): Promise<TestDatabase> {
  await using stack = new AsyncDisposableStack()
  const mongod = stack.use(await testDatabase(env))
  const mongos = stack.use(await startOldMongos(Number(new URL(mongod.uri.reveal()).port)))
  const owned = stack.move()
  const uri = new Secret(`mongodb://127.0.0.1:${mongos.port}/`)
  return { ...mongod, uri, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Kind of command -> the filters with which it names records. A command about the collection itself names none. */
const FILTERS_OF: Readonly<Record<string, (command: Document) => Document[]>> = {
  insert: ({ documents }) => documents,
  update: ({ updates }) => updates.map(({ q }: Document) => q),
  delete: ({ deletes }) => deletes.map(({ q }: Document) => q),
  find: ({ filter }) => (filter.$or?.every((one: Document) => 'provider' in one) ? filter.$or : [filter]),
  aggregate: ({ pipeline }) => [pipeline[0].$match],
  findAndModify: ({ query }) => [query],
  createIndexes: () => [],
  dropIndexes: () => [],
  listIndexes: () => [],
}

/**
 * The filters with which a command on the events names records; an inserted record counts as one. None for a command on
 * another collection.
 * @throws for a kind of command on the events that this function does not know, so that none is left out
 */
export function filtersOf(command: Document): Document[] {
  const [[kind, target] = ['', null]] = Object.entries(command)
  if (target !== EVENTS && command.collection !== EVENTS) return []
  const read = FILTERS_OF[kind]
  if (read === undefined) throw new Error(`How does ${kind} name records?`)
  return read(command)
}

/** Whether a search names the records that it looks for. */
export function namesRecords(command: Document): boolean {
  return filtersOf(command).some((filter) => 'eventId' in filter || filter._id?.$in !== undefined)
}

/** The slots that a filter names. */
export function slotsIn({ slot }: Document): unknown[] {
  return typeof slot === 'object' && slot !== null ? slot.$in : [slot]
}
