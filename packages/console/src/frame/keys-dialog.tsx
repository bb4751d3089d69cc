import { useState } from 'react'
import { CloseRow } from '../dialogs/close-row.tsx'
import { Modal } from '../dialogs/modal.tsx'
import { texts } from '../texts/texts.ts'
import { areKeysActive, setKeysActive } from './use-keys.ts'

/** Shows the keys, and can switch them off for people whose software needs the same keys. */
export function KeysDialog({ onClose }: { readonly onClose: () => void }) {
  const [isActive, setIsActive] = useState(areKeysActive)
  return (
    <Modal title={texts.keys.title} onClose={onClose}>
      <dl className="grid grid-cols-[5rem_1fr] gap-y-1">
        {Object.entries(texts.keys.list).map(([key, meaning]) => (
          <div key={key} className="contents">
            <dt>
              <kbd className="font-mono">{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <label className="mt-3 flex items-center gap-2">
        <input
          type="checkbox"
          checked={isActive}
          onChange={({ target }) => {
            setKeysActive(target.checked)
            setIsActive(target.checked)
          }}
        />
        {texts.keys.active}
      </label>
      <CloseRow onClose={onClose} />
    </Modal>
  )
}
