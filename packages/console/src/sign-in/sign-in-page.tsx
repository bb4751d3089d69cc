import { useMutation, useQuery } from '@tanstack/react-query'
import { codeOf } from '../api/describe-problem.ts'
import { operator } from '../api/operator-client.ts'
import { ProblemAnswer, postJson } from '../api/post-json.ts'
import { isRefused, type Session, setSession, useIsUnknown, useUnconfirmedEnd } from '../api/session.ts'
import { PageFrame } from '../frame/page-frame.tsx'
import { HintedField } from '../parts/hinted-field.tsx'
import { ProblemNotice, QueryProblem } from '../parts/problem-notice.tsx'
import {
  asked,
  exchangeIssuerAnswer,
  exchangeSignInCode,
  goToIssuer,
  readIssuer,
  readSignInCode,
} from './sign-in-from-address.ts'

const AMBIGUOUS = 'session_ambiguous'

/**
 * The session of this browser; null if nobody is signed in. If it is the one that was refused, the browser has sent the cookie
 * of that session with this question, and not with the call before: the page would ask for ever.
 */
async function readSession(): Promise<Session | null> {
  try {
    const { session: id, operator: name, roles } = await operator.me.query()
    if (id === null) return null
    if (isRefused(id)) throw new ProblemAnswer(PLANTED, AMBIGUOUS)
    return { id, operator: name, roles }
  } catch (error) {
    if (codeOf(error) === 'unauthenticated') return null
    throw error
  }
}

const PLANTED =
  'The gateway knows the session of this browser, but does not get it with every call: another server on this host has set its cookie'
const NO_COOKIE = 'This browser takes no cookie from this page, so it cannot keep a session.'

/** Lets the gateway open a session, and enters it. A browser that takes no cookie has none. */
async function signIn(open: () => Promise<unknown>): Promise<void> {
  await open()
  const session = await readSession()
  if (session === null) throw new ProblemAnswer(NO_COOKIE, 'storage_blocked')
  setSession(session)
}

/** A link that would replace the session of somebody else, and the operator whom it signs in. */
interface OtherSignIn {
  readonly current: Session
  readonly linked: string
}

/** Finds out whether a link is for somebody else than this browser's session. Anybody may have sent it, so the page asks first. */
async function findOtherSignIn(): Promise<OtherSignIn | null> {
  const current = asked.code === null ? null : await readSession()
  if (current === null) return null
  const linked = await readSignInCode()
  return linked === current.operator ? null : { current, linked }
}

/**
 * Enters the session of this browser, or the one that the address asks for: by the code of a link, or by the answer of the
 * issuer, which this window has asked for. Resolves to a question if there is one.
 */
async function enter(): Promise<OtherSignIn | null> {
  const { code, returned } = asked
  const isAsked = returned !== null || code !== null
  try {
    if (!isAsked) {
      setSession(await readSession())
      return null
    }
    const other = await findOtherSignIn()
    if (other === null) await signIn(returned === null ? exchangeSignInCode : exchangeIssuerAnswer)
    return other
  } catch (error) {
    asked.code = null
    if (isAsked || codeOf(error) === AMBIGUOUS) setSession(null)
    throw error
  }
}

/** Enters a session if there is one; otherwise, or if that fails, offers the issuer and asks for a token. */
export function SignInPage() {
  const signing = useMutation({ mutationFn: (token: string) => signIn(() => postJson('/sign-in', { token })) })
  // What it has found out holds until somebody has signed in.
  const staleTime = Number.POSITIVE_INFINITY
  const entering = useQuery({ queryKey: ['sign-in'], queryFn: enter, enabled: useIsUnknown(), staleTime })
  const isEndUnconfirmed = useUnconfirmedEnd()
  if (entering.isFetching) return <PageFrame title="Checking…" />
  if (entering.data) return <OtherSignInPage {...entering.data} />
  return (
    <PageFrame title="Sign in">
      {isEndUnconfirmed && (
        <p role="alert" className="my-2 max-w-xl border-l-4 border-bad bg-raised px-3 py-2">
          The gateway has not confirmed the end of your session. This window has forgotten it, but it may still be open:
          reload the page, and sign out again.
        </p>
      )}
      <IssuerButton />
      <form
        className="max-w-xl"
        onSubmit={(event) => {
          event.preventDefault()
          signing.mutate(String(new FormData(event.currentTarget).get('token') ?? '').trim())
        }}
      >
        <HintedField
          label="Operator token"
          hint="Enter a token from OPERATOR_TOKENS, or an access token from your issuer. It opens a session and does not stay in the browser."
          name="token"
          type="password"
          required
          spellCheck={false}
        />
        {signing.error === null ? <QueryProblem error={entering.error} /> : <ProblemNotice error={signing.error} />}
        <button type="submit" className="button button-main" disabled={signing.isPending}>
          {signing.isPending ? 'Checking…' : 'Sign in'}
        </button>
        <p className="mt-4 text-quiet">
          Without a token: run “oncehook sign-in” where the gateway runs, and open the link that it prints.
        </p>
      </form>
    </PageFrame>
  )
}

/** Asks whether a link may replace the session. */
function OtherSignInPage({ current, linked }: OtherSignIn) {
  const signing = useMutation({ mutationFn: () => signIn(exchangeSignInCode) })
  const stay = (): void => {
    asked.code = null
    setSession(current)
  }
  return (
    <PageFrame title="Sign in as somebody else?">
      <p className="my-2 max-w-xl">
        This browser is signed in as {current.operator}. The link is for {linked}. If you did not ask for it, stay
        signed in.
      </p>
      {signing.error !== null && <ProblemNotice error={signing.error} />}
      <p className="flex flex-wrap gap-2">
        <button
          type="button"
          className="button button-main"
          disabled={signing.isPending || asked.code === null}
          onClick={() => signing.mutate()}
        >
          Sign in as {linked}
        </button>
        <button type="button" className="button" disabled={signing.isPending} onClick={stay}>
          Stay signed in as {current.operator}
        </button>
      </p>
    </PageFrame>
  )
}

/** Leads to the sign-in at the issuer. Without an issuer there is nothing to press. */
function IssuerButton() {
  const issuer = useQuery({ queryKey: ['issuer'], queryFn: readIssuer })
  const going = useMutation({ mutationFn: goToIssuer })
  if (!issuer.data) return null
  return (
    <div className="mb-4 max-w-xl">
      <button type="button" className="button button-main" disabled={going.isPending} onClick={() => going.mutate()}>
        Sign in with {issuer.data}
      </button>
      {going.error !== null && <ProblemNotice error={going.error} />}
      <p className="mt-4 text-quiet">Or sign in with a token:</p>
    </div>
  )
}
