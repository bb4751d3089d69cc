import { hash, randomBytes } from 'node:crypto'
import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { MAJORITY } from '@oncehook/kernel/mongo/majority'
import { Secret } from '@oncehook/kernel/secrets/secret'
import type { Clock } from '@oncehook/kernel/time/clock'
import { Binary, type Db } from 'mongodb'
import { openToken, type SealPurpose, sealToken } from './sealed-token.ts'

const CODE_MS = 600_000
const SESSION_MS = 43_200_000
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

/** A text to hand over, with its expiry in milliseconds since 1970. */
interface Issued {
  readonly text: Secret
  readonly endsAt: number
  /** Names it in the audit log. Reveals nothing about the text. */
  readonly id: string
}

/** A session that a token belongs to. */
export interface Session {
  readonly id: string
  /** The token that the session was opened with. What it may do now, the session may do. */
  readonly credential: Secret
  /** Milliseconds since 1970. */
  readonly endsAt: number
}

/** The codes and sessions of all gateways on a database. */
export interface SignIns {
  /** Stores a code that can be used once within 10 minutes. */
  createCode(credential: Secret): Promise<Issued>
  /** The token that belongs to a code, once. Null if it is wrong, used or expired. Two calls at once: one gets it. */
  useCode(code: string): Promise<Secret | null>
  /** Stores a session of at most 12 hours, which ends with the token if that is earlier. */
  createSession(credential: Secret, tokenEndsAt: number | null): Promise<Issued>
  /** The session of a token. Null if there is none, or it has ended. */
  findSession(token: string): Promise<Session | null>
  /** Ends a session, for every gateway. */
  endSession(token: string): Promise<void>
}

const CODES = 'sign_in_codes'
const SESSIONS = 'operator_sessions'

/** The indexes that remove expired codes and sessions. */
export const SIGN_IN_INDEXES: readonly NeededIndexes[] = [CODES, SESSIONS].map((collection) => ({
  collection,
  indexes: [{ name: 'expiry', key: { expireAt: 1 }, expireAfterSeconds: 0 }],
}))

/** Whether a text has the form of a session's token. */
export function isSessionToken(token: string): boolean {
  return SESSION.test(token)
}

/** Opens the sign-ins of a database whose reads and writes wait for a majority. */
export function createSignIns(db: Db, { now }: Clock): SignIns {
  const options = { writeConcern: MAJORITY }
  const codes = db.collection<SignInDocument>(CODES, options)
  const sessions = db.collection<SignInDocument>(SESSIONS, options)
  return {
    async createCode(credential) {
      const issued = issue('', now() + CODE_MS)
      await codes.insertOne(toDocument(issued, { credential, purpose: 'code' }))
      return issued
    },
    async useCode(code) {
      if (!CODE.test(code)) return null
      const found = await codes.findOneAndDelete({ _id: { $eq: digestOf(code) } })
      if (found === null || found.expireAt.getTime() <= now()) return null
      return openToken(found.sealed.value(), { secret: code, purpose: 'code' })
    },
    async createSession(credential, tokenEndsAt) {
      const issued = issue(SESSION_PREFIX, Math.min(now() + SESSION_MS, tokenEndsAt ?? Number.POSITIVE_INFINITY))
      await sessions.insertOne(toDocument(issued, { credential, purpose: 'session' }))
      return issued
    },
    async findSession(token) {
      const _id = digestOf(token)
      const found = isSessionToken(token) ? await sessions.findOne({ _id: { $eq: _id } }) : null
      if (found === null || found.expireAt.getTime() <= now()) return null
      const credential = openToken(found.sealed.value(), { secret: token, purpose: 'session' })
      return credential === null ? null : { id: shownId(_id), credential, endsAt: found.expireAt.getTime() }
    },
    async endSession(token) {
      await sessions.deleteOne({ _id: { $eq: digestOf(token) } })
    },
  }
}

function issue(prefix: string, endsAt: number): Issued {
  const text = new Secret(prefix + randomBytes(RANDOM_BYTES).toString('base64url'))
  return { text, endsAt, id: shownId(digestOf(text.reveal())) }
}

interface Sealing {
  readonly credential: Secret
  readonly purpose: SealPurpose
}

function toDocument({ text, endsAt }: Issued, { credential, purpose }: Sealing): SignInDocument {
  const secret = text.reveal()
  const sealed = new Binary(sealToken(credential, { secret, purpose }))
  return { _id: digestOf(secret), sealed, expireAt: new Date(endsAt) }
}

function digestOf(text: string): string {
  return hash('sha256', text)
}

function shownId(digest: string): string {
  return digest.slice(0, SHOWN_ID)
}
