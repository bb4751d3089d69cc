import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { MAJORITY } from '@oncehook/kernel/mongo/majority'
import { Secret } from '@oncehook/kernel/secrets/secret'
import type { Clock } from '@oncehook/kernel/time/clock'
import { Binary, type Db, type Filter } from 'mongodb'
import { z } from 'zod'
import { sessionNotEnough } from '../../errors.ts'
import type { Operator } from '../access/identify-operator.ts'
import { inputText, reasonSchema, withoutControls } from '../input-text.ts'
import { demandRole, identifiedProcedure, procedure } from '../operator-trpc.ts'
import { createTurns } from '../turns.ts'

const CODE_MS = 600_000
const SESSION_MS = 43_200_000
/** A session that nobody uses ends. A page that is shown uses it, because it reads what is new. */
const UNUSED_MS = 3_600_000
/** How exactly it is known when a session was last used: each use would be a write. */
const USED_MS = 60_000
const MOST_LISTED = 1_000
/** An operator may have so many sessions: one more ends the oldest. So nobody hides a session behind others. */
const MOST_OPEN = 50
/** The process that was to end a session has perhaps died. */
const ENDING_MS = 60_000
/** So many codes, and so many sessions, are looked up at a time: a flood of wrong ones takes no more of the database than that. */
const AT_ONCE = 2
const RANDOM_BYTES = 32
const SESSION_PREFIX = 'ohs_'
const CODE = /^[\w-]{43}$/
const SESSION = /^ohs_[\w-]{43}$/
const SHOWN_ID = 16

/**
 * A code or a session as it is stored: the hash of its random text, and the operator's token, encrypted with that text.
 * A reader of the database can therefore use neither, and a writer cannot create one without the token of an operator.
 */
interface SignInDocument {
  /** SHA-256, in hexadecimal. */
  readonly _id: string
  readonly sealed: Binary
  readonly expireAt: Date
}

interface SessionDocument extends SignInDocument {
  readonly operator: string
  readonly openedAt: Date
  readonly usedAt: Date
  /** When it ends at the latest. `expireAt`: when it ends if nobody uses it. */
  readonly endsAt: Date
  readonly endingAt?: Date
}

/** A text to hand over, with its expiry in milliseconds since 1970. */
interface Issued {
  readonly text: Secret
  readonly endsAt: number
  /** Names it in the audit log. Reveals nothing about the text. */
  readonly id: string
}

export interface Session {
  /** Names it for operators and in the audit log. Reveals nothing about the token. */
  readonly id: string
  /** The SHA-256 of the token, which names it in the database. */
  readonly digest: string
  /** The token that the session was opened with. What it may do now, the session may do. */
  readonly credential: Secret
  /** Milliseconds since 1970. */
  readonly endsAt: number
}

/** The codes and sessions of all gateways on a database. */
export type SignIns = ReturnType<typeof createSignIns>

const CODES = 'sign_in_codes'
const SESSIONS = 'operator_sessions'

export const SIGN_IN_INDEXES: readonly NeededIndexes[] = [CODES, SESSIONS].map((collection) => ({
  collection,
  indexes: [{ name: 'expiry', key: { expireAt: 1 }, expireAfterSeconds: 0 }],
}))

type FindCode = (filter: Filter<SignInDocument>) => Promise<SignInDocument | null>

/** Opens the sign-ins of a database whose reads and writes wait for a majority. */
export function createSignIns(db: Db, { now }: Clock) {
  const options = { writeConcern: MAJORITY }
  const codes = db.collection<SignInDocument>(CODES, options)
  const sessions = db.collection<SessionDocument>(SESSIONS, options)
  const lookUpCode = createTurns(AT_ONCE)
  const lookUpSession = createTurns(AT_ONCE)
  const usedNow = (endsAt: number) => ({
    ...{ usedAt: new Date(now()), expireAt: new Date(Math.min(now() + UNUSED_MS, endsAt)) },
  })
  /** A few are looked up at a time, and the others wait: a flood of wrong codes takes no more of the database than that. */
  const openCode = async (code: string, socket: Socket, find: FindCode): Promise<Secret | null> => {
    if (!CODE.test(code)) return null
    const found = await lookUpCode(() => find({ _id: { $eq: digestOf(code) } }), socket)
    if (found === null || found.expireAt.getTime() <= now()) return null
    return openToken(found.sealed.value(), { secret: code, purpose: 'code' })
  }
  return {
    /** Stores a code that can be used once within 10 minutes. */
    async createCode(credential: Secret): Promise<Issued> {
      const issued = issue('', now() + CODE_MS)
      await codes.insertOne(toDocument(issued, { credential, purpose: 'code' }))
      return issued
    },
    /** The token that belongs to a code, which stays as it is. Null if it is wrong, used or expired. */
    readCode: (code: string, socket: Socket) => openCode(code, socket, (filter) => codes.findOne(filter)),
    /** The same, once. Two calls at once: one gets it. */
    useCode: (code: string, socket: Socket) => openCode(code, socket, (filter) => codes.findOneAndDelete(filter)),
    /** Stores a session of at most 12 hours, which ends with the token if that is earlier. */
    async createSession(credential: Secret, operator: Pick<Operator, 'name' | 'endsAt'>): Promise<Issued> {
      const openedAt = new Date(now())
      const endsAt = Math.min(now() + SESSION_MS, operator.endsAt ?? Number.POSITIVE_INFINITY)
      const issued = issue(SESSION_PREFIX, endsAt)
      await sessions.insertOne({
        ...toDocument(issued, { credential, purpose: 'session' }),
        ...{ operator: operator.name, openedAt, endsAt: new Date(endsAt), ...usedNow(endsAt) },
      })
      const surplus = sessions.find({ operator: { $eq: operator.name } }, { projection: { _id: 1 } })
      const oldest = await surplus.sort({ openedAt: -1 }).skip(MOST_OPEN).toArray()
      if (oldest.length > 0) await sessions.deleteMany({ _id: { $in: oldest.map(({ _id }) => _id) } })
      return issued
    },
    /** The session of a token. Null if there is none, or it has ended. */
    async findSession(token: string, socket: Socket): Promise<Session | null> {
      const digest = digestOf(token)
      const look = () => lookUpSession(() => sessions.findOne({ _id: { $eq: digest } }), socket)
      const found = SESSION.test(token) ? await look() : null
      if (found === null || found.expireAt.getTime() <= now()) return null
      const credential = openToken(found.sealed.value(), { secret: token, purpose: 'session' })
      if (credential === null) return null
      const endsAt = found.endsAt.getTime()
      if (now() - found.usedAt.getTime() >= USED_MS) {
        await sessions.updateOne({ _id: { $eq: digest } }, { $set: usedNow(endsAt) })
      }
      return { id: shownId(digest), digest, credential, endsAt }
    },
    /** The newest 1,000 sessions; of an operator, all. */
    async listSessions({ operator, id }: { readonly operator?: string | undefined; readonly id?: string } = {}) {
      const whose = operator === undefined ? {} : { operator: { $eq: operator } }
      const named = id === undefined ? {} : { _id: { $gte: id, $lt: `${id}g` } }
      return await sessions
        .find({ ...whose, ...named, expireAt: { $gt: new Date(now()) } }, { projection: { sealed: 0 } })
        .sort({ openedAt: -1 })
        .limit(MOST_LISTED)
        .toArray()
    },
    /**
     * Ends a session for every gateway, after it was recorded. Of several calls at once, one records and ends it, and the
     * others resolve to false.
     */
    async endSession(digest: string, record: () => Promise<void>): Promise<boolean> {
      const _id = { $eq: digest }
      const isFree = [{ endingAt: { $exists: false } }, { endingAt: { $lt: new Date(now() - ENDING_MS) } }]
      const taken = await sessions.updateOne({ _id, $or: isFree }, { $set: { endingAt: new Date(now()) } })
      if (taken.modifiedCount === 0) return false
      try {
        await record()
      } catch (error) {
        await sessions.updateOne({ _id }, { $unset: { endingAt: true } })
        throw error
      }
      await sessions.deleteOne({ _id })
      return true
    },
  }
}

function issue(prefix: string, endsAt: number): Issued {
  const text = new Secret(prefix + randomBytes(RANDOM_BYTES).toString('base64url'))
  return { text, endsAt, id: sessionIdOf(text.reveal()) }
}

function toDocument(
  { text, endsAt }: Issued,
  { credential, purpose }: { readonly credential: Secret; readonly purpose: SealPurpose },
): SignInDocument {
  const secret = text.reveal()
  const sealed = new Binary(sealToken(credential, { secret, purpose }))
  return { _id: digestOf(secret), sealed, expireAt: new Date(endsAt) }
}

function digestOf(text: string): string {
  return hash('sha256', text)
}

/** Names the session of a token, for operators, in the audit log and in calls. */
export function sessionIdOf(token: string): string {
  return shownId(digestOf(token))
}

function shownId(digest: string): string {
  return digest.slice(0, SHOWN_ID)
}

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** The purpose of a key. A text that was encrypted for one purpose cannot be decrypted for the other. */
type SealPurpose = 'code' | 'session'

/** A random text, and its purpose. It is never stored, and its key encrypts only one text. */
interface SealKey {
  readonly secret: string
  readonly purpose: SealPurpose
}

/** Encrypts an operator's token with a random text. Without that text, nobody can read the result. */
export function sealToken(token: Secret, key: SealKey): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, deriveKey(key), nonce)
  const sealed = Buffer.concat([cipher.update(token.reveal(), 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed])
}

/** Decrypts a token. Null if it was not encrypted with this text for this purpose, or was changed. */
export function openToken(sealed: Uint8Array, key: SealKey): Secret | null {
  const nonce = sealed.subarray(0, NONCE_BYTES)
  const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
  if (tag.length < TAG_BYTES) return null
  const decipher = createDecipheriv(CIPHER, deriveKey(key), nonce).setAuthTag(tag)
  const opened = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES))
  try {
    return new Secret(Buffer.concat([opened, decipher.final()]).toString())
  } catch {
    return null
  }
}

function deriveKey({ secret, purpose }: SealKey): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', `oncehook sign-in ${purpose}`, KEY_BYTES))
}

// Not optional in a mutation: a body without JSON is refused.
const empty = z.strictObject({})

/**
 * `signIn.createCode`: a code that signs in once, within 10 minutes, as the operator whose token requests it. A session
 * cannot request one: otherwise it could extend itself forever.
 */
export const createCodeProcedure = procedure.input(empty).mutation(async ({ ctx }) => {
  if (ctx.caller.session !== null) throw sessionNotEnough()
  await ctx.audit.record({ by: ctx.operator, action: 'sign_in.code_created', reason: null, details: {} })
  const { text, endsAt } = await ctx.signIns.createCode(ctx.caller.credential)
  return { code: text.reveal(), expiresAt: new Date(endsAt).toISOString() }
})

/** `signIn.end`: ends the session whose cookie was sent, and removes the cookie. A token has no session. */
export const signOutProcedure = identifiedProcedure.input(empty).mutation(async ({ ctx }) => {
  const { session } = ctx.caller
  if (session === null) return { ended: false }
  const entry = { by: ctx.operator, action: 'sign_in.ended', reason: null, details: { session: session.id } } as const
  await ctx.signIns.endSession(session.digest, () => ctx.audit.record(entry))
  ctx.call.headers = { 'Set-Cookie': session.removedCookie }
  return { ended: true }
})

/** `sessions.list`: the newest 1,000 sessions; with the role `operate` those of everybody, otherwise one's own. */
export const listSessionsProcedure = procedure.input(empty.optional()).query(async ({ ctx }) => {
  const found = await ctx.signIns.listSessions({ operator: ctx.roles.has('operate') ? undefined : ctx.operator })
  return found.map(({ _id, operator, openedAt, usedAt, endsAt }) => ({
    ...{ id: shownId(_id), operator, isCurrent: _id === ctx.caller.session?.digest },
    ...{ openedAt: openedAt.toISOString(), usedAt: usedAt.toISOString(), endsAt: endsAt.toISOString() },
  }))
})

const endedSchema = z.union([
  z.strictObject({ id: z.string().length(SHOWN_ID).check(withoutControls), reason: reasonSchema }),
  z.strictObject({ operator: inputText(300), reason: reasonSchema }),
])

/**
 * `sessions.end`: ends one session or all of an operator. Those of others need the role `operate`; without it, their ids are
 * unknown. Each session gets an entry in the audit log before it ends.
 */
export const endSessionsProcedure = procedure.input(endedSchema).mutation(async ({ ctx, input }) => {
  if ('operator' in input && input.operator !== ctx.operator) demandRole(ctx, 'operate')
  const own = ctx.roles.has('operate') ? undefined : ctx.operator
  const found = await ctx.signIns.listSessions('id' in input ? { id: input.id, operator: own } : input)
  const entry = { by: ctx.operator, action: 'sign_in.ended', reason: input.reason } as const
  const ended = await Promise.all(
    found.map(({ _id, operator: of }) =>
      ctx.signIns.endSession(_id, () => ctx.audit.record({ ...entry, details: { session: shownId(_id), of } })),
    ),
  )
  return { ended: ended.filter((isEnded) => isEnded).length }
})

/** `me`: who calls, with which roles, in which session, and until when. Null: in none, and without an end. */
export const meProcedure = identifiedProcedure.input(empty.optional()).query(({ ctx }) => ({
  operator: ctx.operator,
  session: ctx.caller.session?.id ?? null,
  roles: [...ctx.roles],
  expiresAt: ctx.caller.endsAt === null ? null : new Date(ctx.caller.endsAt).toISOString(),
}))
