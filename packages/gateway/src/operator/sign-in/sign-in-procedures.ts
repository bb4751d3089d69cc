import { z } from 'zod'
import { sessionNotEnough } from '../../errors.ts'
import { identifiedProcedure } from '../operator-trpc.ts'

// Not optional in a mutation: a body without JSON is refused.
const empty = z.strictObject({})

/**
 * `signIn.createCode`: a code that signs in once, within 10 minutes, as the operator whose token asks for it. A session
 * cannot ask: it would prolong itself.
 */
export const createCodeProcedure = identifiedProcedure.input(empty).mutation(async ({ ctx }) => {
  if (ctx.caller.session !== null) throw sessionNotEnough()
  await ctx.audit.record({ by: ctx.operator, action: 'sign_in.code_created', reason: null, details: {} })
  const { text, endsAt } = await ctx.signIns.createCode(ctx.caller.credential)
  return { code: text.reveal(), expiresAt: new Date(endsAt).toISOString() }
})

/** `signIn.end`: ends the session whose token was sent. Any other token has none, and stays as it is. */
export const endSessionProcedure = identifiedProcedure.input(empty).mutation(async ({ ctx }) => {
  const { session } = ctx.caller
  if (session === null) return { ended: false }
  await ctx.audit.record({ by: ctx.operator, action: 'sign_in.ended', reason: null, details: { session: session.id } })
  await ctx.signIns.endSession(session.token.reveal())
  return { ended: true }
})

/** `me`: who the token belongs to, what it may do, and when it ends. Null if it does not end. */
export const meProcedure = identifiedProcedure.input(empty.optional()).query(({ ctx }) => ({
  operator: ctx.operator,
  roles: [...ctx.roles],
  expiresAt: ctx.caller.endsAt === null ? null : new Date(ctx.caller.endsAt).toISOString(),
}))
