import type { Secret } from '@oncehook/kernel/secrets/secret'
import type { Operator } from '../access/identify-operator.ts'
import type { Audit } from '../audit/audit.ts'
import { withIdentity } from '../audit/with-identity.ts'
import type { SignIns } from './sign-ins.ts'

/** Dependencies of a new session. */
export interface OpenSessionDeps {
  readonly signIns: Pick<SignIns, 'createSession'>
  readonly audit: Audit
}

/** What the page gets to know about its session. */
export interface OpenedSession {
  readonly token: string
  readonly operator: string
  readonly roles: readonly string[]
  readonly expiresAt: string
}

/** Opens a session with the token of an operator. The audit log has an entry before the session exists. */
export async function openSession(
  { signIns, audit }: OpenSessionDeps,
  operator: Operator,
  credential: Secret,
): Promise<OpenedSession> {
  const entry = { by: operator.name, action: 'sign_in.opened', reason: null, details: {} } as const
  await withIdentity(audit, operator.identity).record(entry)
  const session = await signIns.createSession(credential, operator.endsAt)
  return {
    token: session.text.reveal(),
    operator: operator.name,
    roles: [...operator.roles],
    expiresAt: new Date(session.endsAt).toISOString(),
  }
}
