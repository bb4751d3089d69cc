import type { Answers } from '../api/operator-client.ts'
import { CloseRow } from '../dialogs/close-row.tsx'
import { DialogFacts } from '../dialogs/dialog-facts.tsx'
import { Modal } from '../dialogs/modal.tsx'
import { Instant } from '../parts/instant.tsx'
import { texts } from '../texts/texts.ts'

/** Everything that is kept about a refused delivery, which does not include its body or signature. */
export function RefusalDialog(props: {
  readonly refusal: Answers['refusals']['list']['items'][number]
  readonly onClose: () => void
}) {
  const { refusal, onClose } = props
  const { headers, signatureHeaders, secretIds, causes } = refusal
  const looked = signatureHeaders.map(({ name, isPresent }) => texts.refused.header(name, isPresent))
  const rows = [
    [texts.event.at, <Instant key="at" at={refusal.at} />],
    [texts.events.provider, refusal.provider],
    [texts.refused.answer, `${refusal.status} ${refusal.reason}: ${refusal.message}`],
    [texts.refused.why, refusal.why ?? texts.frame.none],
    [texts.refused.tried, secretIds.length === 0 ? texts.refused.triedNone : secretIds.join(', ')],
    [texts.refused.signature, looked.length === 0 ? texts.frame.none : looked.join(', ')],
    [texts.refused.network, refusal.network ?? texts.frame.none],
    [texts.refused.size, refusal.bytes === null ? texts.frame.none : texts.event.bytes(refusal.bytes)],
    ...headers.map(({ name, value }) => [name, value] as const),
    [texts.problem.requestId, refusal.requestId],
  ] as const
  return (
    <Modal title={texts.refused.title} onClose={onClose}>
      <DialogFacts items={rows} />
      {causes.length > 0 && (
        <>
          <h3 className="mt-3 font-semibold">{texts.refused.causes}</h3>
          <ul className="list-disc pl-5">
            {causes.map(({ cause, proved, message, fix }) => (
              <li key={cause}>
                {texts.refused.cause(message, proved)} <strong>{texts.refused.fix(fix)}</strong>
              </li>
            ))}
          </ul>
        </>
      )}
      <CloseRow onClose={onClose} />
    </Modal>
  )
}
