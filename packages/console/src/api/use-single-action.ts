import { useMutation } from '@tanstack/react-query'
import { useRef } from 'react'

/** A call that changes something, and what comes after it. */
interface SingleAction<Input, Answer> {
  readonly act: (input: Input) => Promise<Answer>
  readonly onDone: (answer: Answer) => void
}

/**
 * A call that is made once: `start` does nothing more until the call has failed. This holds at once and not with the next
 * render, so two clicks right after each other make one call.
 */
export function useSingleAction<Input, Answer>({ act, onDone }: SingleAction<Input, Answer>) {
  const isStarted = useRef(false)
  const acting = useMutation({
    mutationFn: act,
    onSuccess: onDone,
    onError: () => {
      isStarted.current = false
    },
  })
  const start = (input: Input): void => {
    if (isStarted.current) return
    isStarted.current = true
    acting.mutate(input)
  }
  return { start, isBusy: acting.isPending, error: acting.error }
}
