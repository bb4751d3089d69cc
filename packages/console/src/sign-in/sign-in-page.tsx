import { useMutation, useQuery } from '@tanstack/react-query'
import { codeOf } from '../api/describe-problem.ts'
import { operator } from '../api/operator-client.ts'
import { ProblemAnswer, postJson } from '../api/post-json.ts'
import { isRefused, type Session, setSession, useIsUnknown, useUnconfirmedEnd } from '../api/session.ts'
import { PageFrame } from '../frame/page-frame.tsx'
import { HintedField } from '../parts/hinted-field.tsx'
import { ProblemNotice, QueryProblem } from '../parts/problem-notice.tsx'
import { texts } from '../texts/texts.ts'
import {
  dropSignInCode,
  exchangeIssuerAnswer,
  exchangeSignInCode,
  goToIssuer,
  hasIssuerAnswer,
  hasSignInCode,
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
    if (isRefused(id)) throw new ProblemAnswer(texts.signIn.planted, { code: AMBIGUOUS, requestId: null })
    return { id, operator: name, roles }
  } catch (error) {
    if (codeOf(error) === 'unauthenticated') return null
    throw error
  }
}

/** Lets the gateway open a session, and enters it. A browser that takes no cookie has none. */
async function signIn(open: () => Promise<unknown>): Promise<void> {
  await open()
  const session = await readSession()
  if (session === null) throw new ProblemAnswer(texts.signIn.noCookie, { code: 'storage_blocked', requestId: null })
  setSession(session)
}

/** A link that would replace the session of somebody else. */
interface OtherSignIn {
  readonly current: Session
  /** The operator whom the link signs in. */
  readonly linked: string
}

/** Finds out whether a link is for somebody else than this browser's session. Anybody may have sent it, so the page asks first. */
async function findOtherSignIn(): Promise<OtherSignIn | null> {
  const current = hasSignInCode() ? await readSession() : null
  if (current === null) return null
  const linked = await readSignInCode()
  return linked === current.operator ? null : { current, linked }
}

/**
 * Enters the session of this browser, or the one that the address asks for: by the code of a link, or by the answer of the
 * issuer, which this window has asked for. Resolves to a question if there is one.
 */
async function enter(): Promise<OtherSignIn | null> {
  const isAsked = hasIssuerAnswer() || hasSignInCode()
  try {
    if (!isAsked) {
      setSession(await readSession())
      return null
    }
    const other = await findOtherSignIn()
    if (other === null) await signIn(hasIssuerAnswer() ? exchangeIssuerAnswer : exchangeSignInCode)
    return other
  } catch (error) {
    dropSignInCode()
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
  if (entering.isFetching) return <PageFrame title={texts.signIn.checking}>{null}</PageFrame>
  if (entering.data) return <OtherSignInPage {...entering.data} />
  return (
    <PageFrame title={texts.signIn.title}>
      {isEndUnconfirmed && (
        <p role="alert" className="my-2 max-w-xl border-l-4 border-bad bg-raised px-3 py-2">
          {texts.signIn.notEnded}
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
          label={texts.signIn.token}
          hint={texts.signIn.hint}
          name="token"
          type="password"
          required
          autoComplete="off"
          spellCheck={false}
          className="input w-full"
        />
        {signing.error === null ? <QueryProblem error={entering.error} /> : <ProblemNotice error={signing.error} />}
        <button type="submit" className="button button-main" disabled={signing.isPending}>
          {signing.isPending ? texts.signIn.checking : texts.signIn.submit}
        </button>
        <p className="mt-4 text-quiet">{texts.signIn.link}</p>
      </form>
    </PageFrame>
  )
}

/** Asks whether a link may replace the session. */
function OtherSignInPage({ current, linked }: OtherSignIn) {
  const signing = useMutation({ mutationFn: () => signIn(exchangeSignInCode) })
  return (
    <PageFrame title={texts.signIn.somebodyElse}>
      <p className="my-2 max-w-xl">{texts.signIn.linkFor(current.operator, linked)}</p>
      {signing.error !== null && <ProblemNotice error={signing.error} />}
      <p className="flex flex-wrap gap-2">
        <button
          type="button"
          className="button button-main"
          disabled={signing.isPending || !hasSignInCode()}
          onClick={() => signing.mutate()}
        >
          {texts.signIn.as(linked)}
        </button>
        <button
          type="button"
          className="button"
          disabled={signing.isPending}
          onClick={() => {
            dropSignInCode()
            setSession(current)
          }}
        >
          {texts.signIn.stay(current.operator)}
        </button>
      </p>
    </PageFrame>
  )
}

/** Leads to the sign-in at the issuer. Without an issuer there is nothing to press. */
function IssuerButton() {
  const issuer = useQuery({ queryKey: ['issuer'], queryFn: readIssuer })
  const going = useMutation({ mutationFn: goToIssuer })
  if (issuer.data === undefined || issuer.data === null) return null
  return (
    <div className="mb-4 max-w-xl">
      <button type="button" className="button button-main" disabled={going.isPending} onClick={() => going.mutate()}>
        {texts.signIn.atIssuer(issuer.data)}
      </button>
      {going.error !== null && <ProblemNotice error={going.error} />}
      <p className="mt-4 text-quiet">{texts.signIn.otherwise}</p>
    </div>
  )
}
