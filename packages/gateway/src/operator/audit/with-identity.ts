import type { IssuedIdentity } from '../access/access-token.ts'
import type { Audit, NewAuditEntry } from './audit.ts'

/**
 * An audit log whose entries also show the issuer's claims about the operator, because the subject alone means little
 * to a reader.
 */
export function withIdentity(audit: Audit, identity: IssuedIdentity | null): Audit {
  if (identity === null) return audit
  const shown = (entry: NewAuditEntry): NewAuditEntry => ({
    ...entry,
    details: { ...entry.details, operator: { ...identity } },
  })
  return {
    ...audit,
    record: (entry) => audit.record(shown(entry)),
    recordAll: (entries) => audit.recordAll(entries.map(shown)),
  }
}
