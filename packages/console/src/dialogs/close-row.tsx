import { texts } from '../texts/texts.ts'

/** The last row of a dialog without a form: the button that closes it. */
export function CloseRow({ onClose }: { readonly onClose: () => void }) {
  return (
    <p className="mt-4 text-right">
      <button type="button" className="button" onClick={onClose}>
        {texts.frame.close}
      </button>
    </p>
  )
}
