import { z } from 'zod'
import { sessionNotEnough } from '../../errors.ts'
import { identifiedProcedure } from '../operator-trpc.ts'

// Not optional in a mutation: a body without JSON is refused.
const empty = z.strictObject({})

/**
 * `signIn.createCode`: a code that signs in once, within 10 minutes, as the operator whose token requests it. A session
 * cannot request one: otherwise it could extend itself forever.
 */
export const createCodeProcedure = identifiedProcedure.input(empty).mutation(async ({ ctx }) => {
  if (ctx.caller.session !== null) throw sessionNotEnough()
  await ctx.audit.record({ by: ctx.operator, action: 'sign_in.code_created', reason: null, details: {} })
  const { text, endsAt } = await ctx.signIns.createCode(ctx.caller.credential)
  return { code: text.reveal(), expiresAt: new Date(endsAt).toISOString() }
})

/** `signIn.end`: ends the session whose token was sent. Other tokens have no session and are not changed. */
export const endSessionProcedure = identifiedProcedure.input(empty).mutation(async ({ ctx }) => {
  const { session } = ctx.caller
  if (session === null) return { ended: false }
  await ctx.audit.record({ by: ctx.operator, action: 'sign_in.ended', reason: null, details: { session: session.id } })
  await ctx.signIns.endSession(session.token.reveal())
  return { ended: true }
})

/** `me`: who the token belongs to, its roles, and when it expires. Null if it does not expire. */
export const meProcedure = identifiedProcedure.input(empty.optional()).query(({ ctx }) => ({
  operator: ctx.operator,
  roles: [...ctx.roles],
  expiresAt: ctx.caller.endsAt === null ? null : new Date(ctx.caller.endsAt).toISOString(),
}))
