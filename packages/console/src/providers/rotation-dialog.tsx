// The rotation of a secret in four steps: add a new one, switch the provider to it, watch which one matches, remove the old one.
// The plan is made from what the gateway has seen, so the dialog shows the step of now, whenever it is opened.

import type { ReactNode } from 'react'
import type { Answers } from '../api/operator-client.ts'
import { CloseRow, Modal } from '../dialogs/modal.tsx'
import { texts } from '../texts/texts.ts'
import { adviseOnSecret, type KnownSecret, SecretsTable } from './secrets-table.tsx'

type Provider = Answers['providers']['list'][number]

/**
 * Guides through the rotation of a provider's secrets: the lines for the settings, which secret matches, and when the
 * old one can be removed. It knows only ids: it neither asks for a secret nor shows one.
 */
export function RotationDialog({ provider, onClose }: { readonly provider: Provider; readonly onClose: () => void }) {
  const { name, secrets } = provider
  const plan = planRotation(secrets, Date.now())
  const { title, add, switchTo, watch, remove } = texts.rotation
  return (
    <Modal title={title(name)} onClose={onClose}>
      <ol className="list-decimal space-y-2 pl-6">
        <Step text={add} isNow={plan.step === 'add' || plan.step === 'clear'}>
          {plan.step === 'clear' && <p>{texts.rotation.clear(plan.ended)}</p>}
          {plan.step === 'add' && <Lines text={toLine(name, plan.newId)} hint={texts.rotation.addHint(name)} />}
        </Step>
        <Step text={switchTo} isNow={plan.step === 'switch'} />
        <Step text={watch} isNow={plan.step === 'watch'} />
        <Step text={remove} isNow={plan.step === 'remove'}>
          {plan.step === 'remove' && <p>{texts.rotation.removeHint(plan.silent)}</p>}
        </Step>
      </ol>
      <p role="status" className="my-3 font-semibold">
        {sayNow(plan)}
      </p>
      <SecretsTable provider={provider} />
      <CloseRow onClose={onClose} />
    </Modal>
  )
}

function sayNow(plan: RotationPlan): string {
  const { now } = texts.rotation
  if (plan.step === 'switch') return now.switch(plan.newest)
  if (plan.step === 'watch') return now.watch(plan.newest, plan.older)
  if (plan.step === 'remove') return now.remove(plan.newest, plan.silent)
  return now.add
}

/** The line for a new secret, which names a file for it. */
function toLine(provider: string, id: string): string {
  return `{ "id": "${id}", "value": { "file": "/run/secrets/${provider}-${id}" } },`
}

function Step(props: { readonly text: string; readonly isNow: boolean; readonly children?: ReactNode }) {
  return (
    <li aria-current={props.isNow ? 'step' : undefined} className={props.isNow ? 'font-semibold' : ''}>
      {props.text}
      <div className="font-normal">{props.children}</div>
    </li>
  )
}

function Lines({ text, hint }: { readonly text: string; readonly hint: string }) {
  return (
    <>
      <pre className="my-1 bg-raised p-2 font-mono break-words whitespace-pre-wrap">{text}</pre>
      <p className="text-quiet">{hint}</p>
    </>
  )
}

/** The state of the rotation of a provider's secrets, and the next step. */
type RotationPlan =
  /** The settings need another secret, with an id like this. */
  | { readonly step: 'add'; readonly newId: string }
  /** There are three secrets already: an expired one must be removed first. */
  | { readonly step: 'clear'; readonly ended: string }
  /** The provider does not sign with the newest secret yet. */
  | { readonly step: 'switch'; readonly newest: string }
  /** An older secret has matched a short time ago. */
  | { readonly step: 'watch'; readonly newest: string; readonly older: readonly string[] }
  /** Only the newest secret matches. */
  | { readonly step: 'remove'; readonly newest: string; readonly silent: readonly string[] }

const MOST_SECRETS = 3

/** Plans a rotation from the secrets in the order of the settings, the newest first. `now`: milliseconds since 1970. */
export function planRotation(secrets: readonly KnownSecret[], now: number): RotationPlan {
  const ended = secrets.filter((secret) => adviseOnSecret(secret, secrets, now) === 'expired')
  const [newest, ...older] = secrets.filter((secret) => !ended.includes(secret))
  if (newest === undefined || older.length === 0) {
    const [full] = secrets.length < MOST_SECRETS ? [] : ended
    return full === undefined ? { step: 'add', newId: unusedId(secrets, now) } : { step: 'clear', ended: full.id }
  }
  if (newest.lastMatchedAt === null) return { step: 'switch', newest: newest.id }
  const silent = older.filter((secret) => isSilent(secret, secrets, now)).map(({ id }) => id)
  if (silent.length > 0) return { step: 'remove', newest: newest.id, silent }
  return { step: 'watch', newest: newest.id, older: older.map(({ id }) => id) }
}

/** Whether a secret no longer matches. If it never matched, there is nothing to wait for. */
function isSilent(secret: KnownSecret, all: readonly KnownSecret[], now: number): boolean {
  return ['removable', 'neverMatched'].includes(adviseOnSecret(secret, all, now))
}

/** The day as an id or, if it is in use, with a number. */
function unusedId(secrets: readonly KnownSecret[], now: number): string {
  const day = new Date(now).toISOString().slice(0, 10)
  const used = secrets.map(({ id }) => id)
  return [day, `${day}-2`, `${day}-3`].find((id) => !used.includes(id)) ?? `${day}-4`
}
