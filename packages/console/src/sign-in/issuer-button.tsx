import { useMutation, useQuery } from '@tanstack/react-query'
import { ProblemNotice } from '../parts/problem-notice.tsx'
import { texts } from '../texts/texts.ts'
import { goToIssuer, readIssuer } from './issuer-sign-in.ts'

/** Leads to the sign-in at the issuer. Without an issuer there is nothing to press. */
export function IssuerButton() {
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
