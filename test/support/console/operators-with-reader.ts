/** The token of `alice`, who may do everything. */
export const ALICE = 'the-token-of-somebody-who-may-do-all'

/** The token of `reader`, who may only read. */
export const READER = 'the-token-of-somebody-who-may-only-read'

/** Settings of a gateway with these two operators. */
export const OPERATORS_WITH_READER = {
  OPERATOR_TOKENS: JSON.stringify({ alice: ALICE, reader: { tokens: [{ value: READER }], roles: ['read'] } }),
}
