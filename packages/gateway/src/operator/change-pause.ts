import type { AppError } from '@oncehook/kernel/http/errors'
import type { AuditEntry } from './audit/audit.ts'
import type { OperatorContext } from './operator-trpc.ts'

/** A pause or a resume of one provider or handler. */
interface PauseChange {
  readonly action: AuditEntry['action']
  readonly reason: string
  /** What is paused or resumed, as the entry of the audit log names it. */
  readonly details: Readonly<Record<string, string>>
  /** The name of the provider or handler. */
  readonly name: string
  readonly pauses: { readonly current: { has(name: string): boolean }; refresh(): Promise<unknown> }
  /** What the provider or handler must be for this change. */
  readonly isPaused: boolean
  /** Resolves to whether it changed anything. */
  readonly change: () => Promise<boolean>
  readonly refusal: () => AppError
}

/**
 * Pauses or resumes a provider or handler. Every call adds an entry to the audit log, even if it was refused.
 * @throws the refusal if it was paused or resumed already
 */
export async function changePause(ctx: OperatorContext, asked: PauseChange): Promise<void> {
  const { action, reason, details, name, pauses, isPaused, change, refusal } = asked
  const refuse = async (): Promise<never> => {
    const error = refusal()
    await ctx.audit.record({ by: ctx.operator, action, reason, details: { ...details, refused: error.code } })
    throw error
  }
  await pauses.refresh()
  if (pauses.current.has(name) !== isPaused) return refuse()
  // The entry of the audit log comes first. After a crash in between, nothing is changed without an entry.
  await ctx.audit.record({ by: ctx.operator, action, reason, details })
  if (!(await change())) return refuse()
}
