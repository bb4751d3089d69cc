// The rotation of a secret in four steps: add a new one, switch the provider to it, watch which one matches, remove the old one.
// The plan is made from what the gateway has seen, so the dialog shows the step of now, whenever it is opened. It knows only ids:
// it neither asks for a secret nor shows one.

import type { ReactNode } from 'react'
import { Modal } from '../dialogs/modal.tsx'
import { adviseOnSecret, type KnownSecret, SecretsTable } from './secrets-table.tsx'
import type { Provider } from './use-providers.tsx'

export function RotationDialog({ provider, onClose }: { readonly provider: Provider; readonly onClose: () => void }) {
  const { name, secrets } = provider
  const plan = planRotation(secrets, Date.now())
  return (
    <Modal title={`Rotate a secret of ${name} without a gap`} onClose={onClose}>
      <ol className="list-decimal space-y-2 pl-6">
        <Step
          text="Add the new secret to the settings, before the old one."
          isNow={plan.step === 'add' || plan.step === 'clear'}
        >
          {plan.step === 'clear' &&
            `A provider can have three secrets: remove the line of “${plan.ended}”, which has expired.`}
          {plan.step === 'add' && <NewLine provider={name} id={plan.newId} />}
        </Step>
        <Step text="Enter the new secret at the provider." isNow={plan.step === 'switch'} />
        <Step text="Watch below until only the new secret matches." isNow={plan.step === 'watch'} />
        <Step
          text="Remove the old secret from the settings when it has not matched for 3 days."
          isNow={plan.step === 'remove'}
        >
          {plan.step === 'remove' &&
            `Remove the line with the id ${quote(plan.silent)} now. If you still want to check or replay deliveries that it signed, keep the line and add "notAfter" with the current time.`}
        </Step>
      </ol>
      <p role="status" className="my-3 font-semibold">
        Now: {sayNow(plan)}
      </p>
      <SecretsTable provider={provider} />
    </Modal>
  )
}

const quote = (ids: readonly string[]): string => ids.map((id) => `“${id}”`).join(' and ')

function sayNow(plan: RotationPlan): string {
  if (plan.step === 'add' || plan.step === 'clear') return 'one secret is in use.'
  const newest = quote([plan.newest])
  if (plan.step === 'switch') return `${newest} is in the settings and has not matched yet.`
  if (plan.step === 'watch') return `${newest} matches. Wait until ${quote(plan.older)} has not matched for 3 days.`
  return `${newest} matches, and ${quote(plan.silent)} can be removed.`
}

function Step(props: { readonly text: string; readonly isNow: boolean; readonly children?: ReactNode }) {
  return (
    <li aria-current={props.isNow ? 'step' : undefined} className={props.isNow ? 'font-semibold' : ''}>
      {props.text}
      <div className="font-normal">{props.children}</div>
    </li>
  )
}

/** The line for a new secret, which names a file for it. */
function NewLine({ provider, id }: { readonly provider: string; readonly id: string }) {
  return (
    <>
      <pre className="my-1 bg-raised p-2 break-words whitespace-pre-wrap">
        {`{ "id": "${id}", "value": { "file": "/run/secrets/${provider}-${id}" } },`}
      </pre>
      <p className="text-quiet">
        Put this line at the beginning of "secrets" of "{provider}" in PROVIDERS_FILE, and the secret into the file that
        it names. The gateway reads both again within seconds. Never enter a secret on this page.
      </p>
    </>
  )
}

/** The next step of a rotation, as `sayNow` says it. `clear`: there are three secrets, and an expired one must be removed first. */
type RotationPlan =
  | { readonly step: 'add'; readonly newId: string }
  | { readonly step: 'clear'; readonly ended: string }
  | { readonly step: 'switch'; readonly newest: string }
  | { readonly step: 'watch'; readonly newest: string; readonly older: readonly string[] }
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
