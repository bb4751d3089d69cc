import { useMutation } from '@tanstack/react-query'
import { useId } from 'react'
import { createOperatorClient } from '../api/operator-client.ts'
import { setSession } from '../api/session.ts'
import { PageFrame } from '../frame/page-frame.tsx'
import { ProblemNotice } from '../parts/problem-notice.tsx'
import { texts } from '../texts.ts'

async function signIn(token: string): Promise<void> {
  await createOperatorClient(() => token).overview.query()
  // The gateway refuses what the token does not allow, and the page shows that.
  setSession({ token, roles: ['read', 'operate', 'bodies'] })
}

/** Asks for a token, and begins a session if the gateway knows it. */
export function SignInPage() {
  const id = useId()
  const signing = useMutation({ mutationFn: signIn })
  return (
    <PageFrame title={texts.signIn.title}>
      <form
        className="max-w-xl"
        onSubmit={(event) => {
          event.preventDefault()
          signing.mutate(String(new FormData(event.currentTarget).get('token') ?? '').trim())
        }}
      >
        <label htmlFor={id} className="block font-semibold">
          {texts.signIn.token}
        </label>
        <input
          id={id}
          name="token"
          type="password"
          required
          autoComplete="off"
          spellCheck={false}
          className="input w-full"
          aria-describedby={`${id}-hint`}
        />
        <p id={`${id}-hint`} className="my-2 text-quiet">
          {texts.signIn.hint}
        </p>
        {signing.error !== null && <ProblemNotice error={signing.error} />}
        <button type="submit" className="button button-main" disabled={signing.isPending}>
          {signing.isPending ? texts.signIn.checking : texts.signIn.submit}
        </button>
        <p className="mt-4 text-quiet">{texts.signIn.link}</p>
      </form>
    </PageFrame>
  )
}
