import './styles.css'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { applyTheme } from './frame/browser.ts'
import { pageRouter } from './frame/router.tsx'
import { SessionQueries } from './frame/session-queries.tsx'
import { followKeys } from './frame/use-keys.ts'
import { takeIssuerAnswer, takeSignInCode } from './sign-in/sign-in-from-address.ts'

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
