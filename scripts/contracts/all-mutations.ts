import { HANDLER_MUTATIONS } from './handler-mutations.ts'
import { MUTATIONS, type Mutation } from './mutations.ts'

/** The mutations of all contracts. */
export const ALL_MUTATIONS: readonly Mutation[] = [...MUTATIONS, ...HANDLER_MUTATIONS]
