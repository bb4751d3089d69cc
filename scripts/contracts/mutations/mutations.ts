import { API_MUTATIONS } from './api-mutations.ts'
import { DELIVERY_MUTATIONS } from './delivery-mutations.ts'
import { FULFILMENT_MUTATIONS } from './fulfilment-mutations.ts'
import { GATEWAY_MUTATIONS } from './gateway-mutations.ts'
import { HANDLER_MUTATIONS } from './handler-mutations.ts'
import type { Mutation } from './mutation.ts'
import { PROVIDER_MUTATIONS } from './provider-mutations.ts'
import { TOKEN_MUTATIONS } from './token-mutations.ts'

/** All mutations that are tried. */
export const MUTATIONS: readonly Mutation[] = [
  ...TOKEN_MUTATIONS,
  ...FULFILMENT_MUTATIONS,
  ...GATEWAY_MUTATIONS,
  ...DELIVERY_MUTATIONS,
  ...API_MUTATIONS,
  ...PROVIDER_MUTATIONS,
  ...HANDLER_MUTATIONS,
]
