import type { ReactNode } from 'react'
import type { Answers } from '../api/operator-client.ts'
import { CloseRow } from '../dialogs/close-row.tsx'
import { Modal } from '../dialogs/modal.tsx'
import { texts } from '../texts/texts.ts'
import { planRotation, type RotationPlan } from './plan-rotation.ts'
import { SecretsTable } from './secrets-table.tsx'

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
