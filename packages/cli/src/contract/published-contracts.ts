import { z } from 'zod'
import httpsHandler from '../../../../contracts/gateway-https-handler.json' with { type: 'json' }
import trpcHandler from '../../../../contracts/gateway-trpc-handler.json' with { type: 'json' }
import states from '../../../../contracts/states.json' with { type: 'json' }

const jsonObject = z.record(z.string(), z.unknown())
const state = z.object({ name: z.string(), params: jsonObject.default({}) })
const headers = z.record(z.string(), z.array(z.string()))
const matcher = z.object({
  match: z.string(),
  regex: z.string().optional(),
  status: z.union([z.string(), z.array(z.number())]).optional(),
})
const rules = z.record(z.string(), z.object({ matchers: z.array(matcher) }))

const interactionSchema = z.object({
  description: z.string(),
  providerStates: z.array(state).default([]),
  request: z.object({ headers, body: z.object({ content: jsonObject }) }),
  response: z.object({
    status: z.number(),
    headers: headers.default({}),
    body: z.object({ content: z.unknown() }).optional(),
    matchingRules: z
      .object({ status: rules.default({}), header: rules.default({}), body: rules.default({}) })
      .default({ status: {}, header: {}, body: {} }),
  }),
})

/** One call of the gateway to a handler, and the answer that it relies on. */
export type Interaction = z.output<typeof interactionSchema>
export type ExpectedAnswer = Interaction['response']

const pactSchema = z.object({ interactions: z.array(interactionSchema) })

const catalogueSchema = z.object({
  version: z.number(),
  states: z.array(
    z.object({
      provider: z.string(),
      name: z.string(),
      by: z.enum(['caller', 'provider']),
      meaning: z.string(),
      parameters: z.record(z.string(), z.string()).default({}),
      advice: z.string().optional(),
    }),
  ),
})

/** A provider state of the catalogue. `by` says who creates it: who sends the request, or the provider. */
export type PublishedState = z.output<typeof catalogueSchema>['states'][number]

export type CalledBy = 'https' | 'trpc'

/** The files as they are published, by the names under which they can be shown. */
export const PUBLISHED: Readonly<Record<string, object>> = {
  'https-handler': httpsHandler,
  'trpc-handler': trpcHandler,
  states,
}

export function readHandlerContract(by: CalledBy): readonly Interaction[] {
  return pactSchema.parse(by === 'https' ? httpsHandler : trpcHandler).interactions
}

export function readCatalogue(): readonly PublishedState[] {
  return catalogueSchema.parse(states).states
}
