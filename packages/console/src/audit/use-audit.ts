import { operator } from '../api/operator-client.ts'
import { usePages } from '../api/use-pages.ts'

/** The entries of the audit log, newest first, page by page. */
export function useAudit() {
  return usePages({ key: ['audit', 'list'], read: (page) => operator.audit.list.query(page) })
}
