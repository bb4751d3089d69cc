import { Navigate } from '@tanstack/react-router'

/** Redirects to the events, the first page. */
export function FirstPage() {
  return <Navigate to="/events" replace />
}
