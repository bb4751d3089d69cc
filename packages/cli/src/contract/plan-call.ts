import { hash } from 'node:crypto'
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
  /** A JSON Pointer: where the body has the id of its object. */
  readonly objectId: string
  readonly secret: string
}

/** The time and the ids of calls. */
export interface PlanDeps {
  readonly now: () => number
  readonly randomId: () => string
}

/** The type of the contract that no handler knows. It is sent as it is. */
const UNKNOWN_TYPE = 'contract.unknown'

/**
 * Writes the call of an interaction for a handler. Its events and their objects have new ids, so that the command can be
 * repeated, and no event is about the object of another one.
 */
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

function adaptTask(task: Task, handler: HandlerIdentity, made: string): Task {
  const { name, provider } = handler
  const type = task.type === UNKNOWN_TYPE ? UNKNOWN_TYPE : handler.type
  const body = structuredClone(handler.body ?? { ...Object(task.body), type })
  const event = idAt(body, '/id')
  const eventId = event?.renew(made) ?? made
  const objectId = idAt(body, handler.objectId)?.renew(made) ?? (handler.body === null ? `sub_${made}` : undefined)
  const ids = { key: `${provider}:${eventId}:${name}`, provider, eventId, type, objectId }
  return task.body === undefined ? { ...task, ...ids } : { ...task, ...ids, body }
}

/** The id at a JSON Pointer into a body. Null if there is none. */
export function idAt(body: object, pointer: string): { renew(made: string): string } | null {
  const names = pointer.split('/').map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
  const last = names.pop() ?? ''
  const place = names.slice(1).reduce<unknown>((at, name) => Object(at)[name], body)
  if (typeof place !== 'object' || place === null || !Object.hasOwn(place, last)) return null
  const members = place as Record<string, unknown>
  const id = members[last]
  if (typeof id !== 'string' && typeof id !== 'number') return null
  return {
    renew(made) {
      const renewed = typeof id === 'number' ? numberOf(made) : likeThat(id, made)
      members[last] = renewed
      return String(renewed)
    },
  }
}

/** Some handlers tell kinds of objects by the beginning of their ids: `sub_`, `pi_`. */
function likeThat(id: string, made: string): string {
  return `${/^[a-z]+_/i.exec(id)?.[0] ?? ''}${made}`
}

/** A whole number that JavaScript has exactly. */
function numberOf(made: string): number {
  return Number.parseInt(hash('sha256', made).slice(0, 13), 16)
}
