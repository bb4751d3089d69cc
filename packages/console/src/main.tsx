import './styles.css'
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { codeOf } from './api/describe-problem.ts'
import { setSession } from './api/session.ts'
import { pageRouter } from './frame/router.tsx'
import { applyTheme } from './frame/theme.ts'
import { followKeys } from './frame/use-keys.ts'
import { takeIssuerAnswer } from './sign-in/issuer-sign-in.ts'
import { takeSignInCode } from './sign-in/sign-in-code.ts'

/** An expired token ends the session: the page forgets what it has read, and asks for another token. */
function onError(error: Error): void {
  if (codeOf(error) !== 'unauthenticated') return
  setSession(null)
  queries.clear()
}

const queries = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  // The page refreshes its contents anyway, so one failed call is shown at once.
  defaultOptions: { queries: { retry: false } },
})

applyTheme()
followKeys()
takeIssuerAnswer()
takeSignInCode()
const place = document.getElementById('page')
if (place !== null) {
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <RouterProvider router={pageRouter} />
      </QueryClientProvider>
    </StrictMode>,
  )
}
