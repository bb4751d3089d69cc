import { hash } from 'node:crypto'
import type { BatchTerms, GroupCommit } from '@oncehook/queue/insert/group-commit'
import { GROUP_LIMITS, OVERHEAD_BYTES } from '@oncehook/queue/insert/group-commit'
import type { StoredBody } from './bodies.ts'
import { type BodiesDeps, bodyIdOf, createBodies } from './bodies.ts'
import type { EventDocument } from './event-document.ts'
import type { Arrival, Evidence, Inbox, Offer, Recorded, Task, Written } from './inbox.ts'
import { joinOutcomes } from './tasks.ts'

/** Several events of one delivery. Each id occurs once. */
export interface BatchArrival {
  readonly evidence: Evidence
  readonly offers: readonly Offer[]
  /** After this instant of `performance.now()` the outcome is no longer needed. */
  readonly endsAt: number
}

/** What the inbox does with every event, whether it comes alone or in a batch. */
interface EventSteps {
  /** Whether a task is known to be durable, and is only to be counted. */
  readonly isKnown: (key: string) => boolean
  /** The tasks of an arrival, of which there is at least one. */
  readonly split: (arrival: Arrival) => readonly Task[]
  readonly keyOf: (task: Task, body: StoredBody) => string
  readonly group: Pick<GroupCommit<EventDocument>, 'writeBatch'>
  readonly toDocument: (task: Task, body: StoredBody) => EventDocument
  readonly settle: (written: Written) => Recorded
}

/** Creates the `recordBatch` of an inbox: one body for all events, and one batch in the queue of single events. */
export function createBatchRecorder(deps: BodiesDeps, steps: EventSteps): Inbox['recordBatch'] {
  const bodies = createBodies(deps)
  return async ({ evidence, offers, endsAt }) => {
    const { provider, rawBody } = evidence
    const bodyHash = hash('sha256', rawBody, 'base64')
    const body = { hash: bodyHash, id: bodyIdOf({ provider, bodyHash }) }
    const tasks = offers.map((offer) =>
      steps.split({ ...evidence, ...offer }).map((task) => ({ task, body, key: steps.keyOf(task, body) })),
    )
    const members = tasks.flat()
    const fresh = members.filter(({ key }) => !steps.isKnown(key))
    // The body is stored before any record that refers to it.
    const kept = fresh.length === 0 ? 'kept' : await bodies.keep({ id: body.id, rawBody }, endsAt)
    if (kept === 'not_stored') return offers.map(() => 'not_stored')
    const isOwn = kept === 'erased' && fresh.length * rawBody.length <= GROUP_LIMITS.maxBytes
    const outcomes = await (isOwn
      ? writeFresh(fresh.map(withOwnBody), steps, { endsAt, bytes: OVERHEAD_BYTES + rawBody.length })
      : writeFresh(fresh, steps, { endsAt, bytes: OVERHEAD_BYTES }))
    const outcomeOf = (member: Member): Recorded =>
      outcomes.get(member.key) ?? steps.settle({ ...member, document: undefined, verdict: 'duplicate' })
    return tasks.map((ofEvent) => joinOutcomes(ofEvent.map(outcomeOf)))
  }
}

type Member = Omit<Written, 'document' | 'verdict'>

/** The shared body was erased. It stays so, but a new task needs its body: each gets its own. */
function withOwnBody({ body, ...member }: Member): Member {
  return { ...member, body: { hash: body.hash } }
}

async function writeFresh(
  fresh: readonly Member[],
  { group, toDocument, settle }: EventSteps,
  terms: BatchTerms,
): Promise<Map<string, Recorded>> {
  const documents: EventDocument[] = []
  const makers = fresh.map(({ task, body }, index) => () => {
    const document = toDocument(task, body)
    documents[index] = document
    return document
  })
  const verdicts = await group.writeBatch(makers, terms)
  return new Map(
    fresh.map((member, at) => [member.key, settle({ ...member, document: documents[at], verdict: verdicts[at] })]),
  )
}
