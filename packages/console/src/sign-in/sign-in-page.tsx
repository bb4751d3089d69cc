import { useMutation, useQuery } from '@tanstack/react-query'
import { createOperatorClient } from '../api/operator-client.ts'
import { ProblemAnswer } from '../api/post-json.ts'
import { setSession, useUnconfirmedEnd } from '../api/session.ts'
import { PageFrame } from '../frame/page-frame.tsx'
import { HintedField } from '../parts/hinted-field.tsx'
import { ProblemNotice } from '../parts/problem-notice.tsx'
import { texts } from '../texts/texts.ts'
import {
  exchangeIssuerAnswer,
  exchangeSignInCode,
  goToIssuer,
  hasIssuerAnswer,
  hasSignInCode,
  readIssuer,
} from './sign-in-from-address.ts'

// RFC 9110 section 11.2. A browser sends no others, and its error says only that the call failed.
const TOKEN = /^[\x21-\x7e]+$/

async function signIn(token: string): Promise<void> {
  if (!TOKEN.test(token)) {
    throw new ProblemAnswer(texts.signIn.oddToken, { code: 'unauthenticated', requestId: null })
  }
  const { operator, roles } = await createOperatorClient(() => token).me.query()
  setSession({ token, operator, roles })
}

/** Signs in by what the address had: the code of a link, or the answer of the issuer. */
function useSignInFromAddress() {
  return useQuery({
    queryKey: ['sign-in'],
    queryFn: async () => {
      setSession(await (hasIssuerAnswer() ? exchangeIssuerAnswer() : exchangeSignInCode()))
      return true
    },
    enabled: hasSignInCode() || hasIssuerAnswer(),
  })
}

/** Signs in by what the address had, if it had something; otherwise, or if that fails, offers the issuer and asks for a token. */
export function SignInPage() {
  const signing = useMutation({ mutationFn: signIn })
  const exchanging = useSignInFromAddress()
  const isEndUnconfirmed = useUnconfirmedEnd()
  const error = signing.error ?? exchanging.error
  if (exchanging.isFetching) return <PageFrame title={texts.signIn.checking}>{null}</PageFrame>
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
        {error !== null && <ProblemNotice error={error} />}
        <button type="submit" className="button button-main" disabled={signing.isPending}>
          {signing.isPending ? texts.signIn.checking : texts.signIn.submit}
        </button>
        <p className="mt-4 text-quiet">{texts.signIn.link}</p>
      </form>
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
