import type { Answers } from '../api/operator-client.ts'
import { CloseRow } from '../dialogs/close-row.tsx'
import { DialogFacts } from '../dialogs/dialog-facts.tsx'
import { Modal } from '../dialogs/modal.tsx'
import { Instant } from '../parts/instant.tsx'
import { texts } from '../texts/texts.ts'

/** All of an entry of the audit log. Rows cut what is long, and a narrow window has no room for some of it. */
export function EntryDialog(props: {
  readonly entry: Answers['audit']['list']['items'][number]
  readonly onClose: () => void
}) {
  const { entry, onClose } = props
  return (
    <Modal title={texts.audit.entry} onClose={onClose}>
      <DialogFacts
        items={[
          [texts.event.at, <Instant key="at" at={entry.at} />],
          [texts.event.by, entry.by],
          [texts.audit.action, entry.action],
          [texts.action.reason, entry.reason ?? texts.frame.none],
        ]}
      />
      <h3 className="mt-3 font-semibold">{texts.audit.details}</h3>
      <pre className="mt-1 bg-raised p-2 font-mono break-all whitespace-pre-wrap">
        {JSON.stringify(entry.details, null, 2)}
      </pre>
      <CloseRow onClose={onClose} />
    </Modal>
  )
}
