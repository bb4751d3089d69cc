import { inState, type PlannedCall } from './caller-states.ts'
import type { Interaction } from './published-contracts.ts'

/** What a team says about its handler. */
export interface HandlerIdentity {
  /** Its name in `HANDLERS`. */
  readonly name: string
  /** The type that it acts on. */
  readonly type: string
  /** The provider whose events it gets. */
  readonly provider: string
  /** The body of such an event. Null: that of the contract. */
  readonly body: Readonly<Record<string, unknown>> | null
  readonly secret: string
}

/** The time and the ids of calls. */
export interface PlanDeps {
  readonly now: () => number
  readonly randomId: () => string
}

/** The type of the contract that no handler knows. It is sent as it is. */
const UNKNOWN_TYPE = 'contract.unknown'

/** Writes the call of an interaction for a handler. Its events have new ids, so that the command can be repeated. */
export function planCall(interaction: Interaction, handler: HandlerIdentity, { now, randomId }: PlanDeps): PlannedCall {
  const { content } = interaction.request.body
  const adapt = (task: unknown): Task => adaptTask(task as Task, handler, `contract_${randomId()}`)
  const body = Array.isArray(content.events)
    ? { ...content, handler: handler.name, events: content.events.map(adapt) }
    : adapt(content)
  const { name: audience, secret } = handler
  const usual = { body, secrets: [secret], signedAt: now(), audience, isRepeated: false, hasSpaces: false }
  return interaction.providerStates.reduce<PlannedCall>(inState, usual)
}

type Task = Readonly<Record<string, unknown>>

function adaptTask(task: Task, handler: HandlerIdentity, eventId: string): Task {
  const { name, provider } = handler
  const type = task.type === UNKNOWN_TYPE ? UNKNOWN_TYPE : handler.type
  const ids = { key: `${provider}:${eventId}:${name}`, provider, eventId, type }
  if (task.body === undefined) return { ...task, ...ids }
  return { ...task, ...ids, body: handler.body ?? { ...Object(task.body), id: eventId, type } }
}
