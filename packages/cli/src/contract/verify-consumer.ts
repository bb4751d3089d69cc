import { z } from 'zod'
import { type PublishedState, readCatalogue } from './published-contracts.ts'

/** What is wrong with the pact file of a consumer. */
export interface CheckedConsumer {
  /** Null if the file is not a pact. */
  readonly consumer: string | null
  readonly provider: string
  readonly interactions: number
  readonly problems: readonly string[]
}

const participant = z.object({ name: z.string().min(1) })
const stateSchema = z.object({ name: z.string(), params: z.record(z.string(), z.unknown()).default({}) })
const interactionSchema = z.object({
  description: z.string().min(1),
  providerStates: z.array(stateSchema).optional(),
  /** Up to version 2 of Pact. */
  providerState: z.string().optional(),
})
const pactSchema = z.object({
  consumer: participant,
  provider: participant,
  interactions: z.array(interactionSchema).optional(),
  messages: z.array(interactionSchema).optional(),
  metadata: z.object({ pactSpecification: z.object({ version: z.string() }) }),
})

type Interaction = z.output<typeof interactionSchema>

/**
 * Checks the pact file of a consumer, without sending anything: whether it is well-formed, whether its provider has a
 * catalogue of states, and whether each state is in it with all its parameters.
 */
export function verifyConsumer(file: unknown): CheckedConsumer {
  const parsed = pactSchema.safeParse(file)
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'the file'}: ${message}`)
    return { consumer: null, provider: '', interactions: 0, problems: ['The file is not a pact', ...problems] }
  }
  const { consumer, provider, interactions = [], messages = [] } = parsed.data
  const all = [...interactions, ...messages]
  const known = readCatalogue().filter((state) => state.provider === provider.name)
  const result = { consumer: consumer.name, provider: provider.name, interactions: all.length }
  if (known.length === 0) {
    const providers = [...new Set(readCatalogue().map((state) => state.provider))].join(', ')
    return { ...result, problems: [`There is no provider ${provider.name}. The catalogue has ${providers}`] }
  }
  if (all.length === 0) return { ...result, problems: ['The pact has no interactions'] }
  return { ...result, problems: [...repeated(all), ...all.flatMap((one) => stateProblems(one, known))] }
}

/** Two interactions with one description and the same states would look alike. */
function repeated(interactions: readonly Interaction[]): string[] {
  const names = interactions.map(({ description, providerStates = [] }) =>
    JSON.stringify([description, providerStates]),
  )
  const twice = interactions.filter((_, index) => names.indexOf(names[index] ?? '') < index)
  return twice.map(({ description }) => `${description}: there are two of these, with the same states`)
}

function stateProblems(
  { description, providerStates, providerState }: Interaction,
  known: readonly PublishedState[],
): string[] {
  const old = providerState === undefined ? [] : [{ name: providerState, params: {} }]
  return (providerStates ?? old).flatMap(({ name, params }) => {
    const published = known.find((state) => state.name === name)
    if (published === undefined) return [`${description}: there is no state "${name}"`]
    const unknown = Object.keys(params).filter((parameter) => published.parameters[parameter] === undefined)
    return unknown.map((parameter) => `${description}: the state "${name}" has no parameter ${parameter}`)
  })
}
