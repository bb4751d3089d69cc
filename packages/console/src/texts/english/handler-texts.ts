import { plural } from './plural.ts'

/** The texts about handlers and their tasks, in English. */
export const handlerTexts = {
  handler: 'Handler',
  any: 'All handlers',
  taskOf: (eventId: string, handler: string): string => `${eventId} for ${handler}`,
  tasks: 'Tasks of this event',
  shown: (handler: string): string => `${handler} (shown here)`,
  nobody: 'nobody wants it',
  replayTitle: (handler: string): string => `Replay events for ${handler}`,
  calledBy: 'Called by',
  by: { https: 'https', trpc: 'trpc', 'built in': 'built in', removed: 'nobody' },
  oldest: 'Oldest stored',
  concurrency: 'Calls at a time',
  rate: 'Events per second',
  removed: 'It was removed from the setting. Its tasks are not sent. Add it again, or discard them.',
  pausedBySetting: 'Paused by the setting: its tasks wait until "paused" is removed there.',
  doesNotAnswer: 'It does not answer this gateway process. Only single tasks are sent until it does.',
  waiting: (count: number | null): string =>
    count === null ? 'counting the waiting tasks took too long' : plural(count, 'task waits', 'tasks wait'),
  pauseHint: 'Its tasks are still stored, and wait until somebody resumes it. Other handlers go on.',
  resumeHint: 'The waiting tasks are sent, the oldest first.',
  pausedOnes: (handlers: readonly string[]): string => `Paused handlers: ${handlers.join(', ')}`,
  pausedMeans: 'Their tasks wait.',
  silentOnes: (handlers: readonly string[]): string => `Handlers that do not answer: ${handlers.join(', ')}`,
  wantedBy: (handler: string): string => `Events that ${handler} wants`,
  types: 'Types',
  conditions: 'Conditions',
  anyProvider: 'any',
  noCondition: 'none',
  secretStates: { signs: 'signs', expiresSoon: 'signs, expires within 7 days', expired: 'expired' },
  backfill: 'Backfill…',
  backfillTitle: (handler: string): string => `Give stored events to ${handler}`,
  backfillCounted: (count: number): string =>
    `${plural(count, 'stored event', 'stored events')} will be examined. Those that it wants become tasks, unless it has one already.`,
  backfillZero: 'It wants no stored event of this time.',
  backfillSubmit: (count: number): string => `Examine ${plural(count, 'event', 'events')}`,
  backfillSpans: { 0: 'Any time', 1: 'Last 24 hours', 7: 'Last 7 days', 30: 'Last 30 days' },
  discard: 'Discard its tasks…',
  discardTitle: (handler: string): string => `Discard the tasks of ${handler}`,
  discardHint:
    'Its pending and dead tasks become unhandled and are never sent. First make sure that no gateway has the handler in its setting.',
  discardSubmit: 'Discard the tasks',
  discarded: (handler: string, count: number, held: number): string =>
    `Discarded ${plural(count, 'task', 'tasks')} of ${handler}.${held === 0 ? '' : ` A process holds ${held} more: discard again when they are pending.`}`,
  emptyTitle: 'No handler can be configured',
  emptyHint: 'Set HANDLERS or HANDLERS_FILE, if only to {}. docs/handlers.md describes what a handler is.',
}
