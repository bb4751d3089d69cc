import './styles.css'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { pageRouter } from './frame/router.tsx'
import { SessionQueries } from './frame/session-queries.tsx'
import { applyTheme } from './frame/theme.ts'
import { followKeys } from './frame/use-keys.ts'
import { takeIssuerAnswer } from './sign-in/issuer-sign-in.ts'
import { takeSignInCode } from './sign-in/sign-in-code.ts'

applyTheme()
followKeys()
takeIssuerAnswer()
takeSignInCode()
const place = document.getElementById('page')
if (place !== null) {
  createRoot(place).render(
    <StrictMode>
      <SessionQueries>
        <RouterProvider router={pageRouter} />
      </SessionQueries>
    </StrictMode>,
  )
}
