import { texts } from '../texts/texts.ts'

/** Marks a test event. */
export function TestTag() {
  return (
    <span className="rounded border border-edge px-1 text-quiet" title={texts.test.means}>
      {texts.test.tag}
    </span>
  )
}
