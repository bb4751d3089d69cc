import { Navigate } from '@tanstack/react-router'

/** Leads to the events, on which the page opens. */
export function FirstPage() {
  return <Navigate to="/events" replace />
}
