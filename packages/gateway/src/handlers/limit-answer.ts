import type { Dispatcher } from 'undici'

/** More than any answer that a call reads, as it is sent: a compressed one may have many bytes that become none. */
export const MOST_ANSWER_BYTES = 2 * 1024 * 1024

const MOST_PARTS = 5_000
// Each may have as many headers as the answer itself.
const PARTS_OF_HEAD = 100

/**
 * Ends an answer of very many parts: pieces of its body, or answers before it, such as `103 Early Hints`. Each costs time in which
 * the process receives no delivery, and a handler can send them as long as a call lasts.
 */
export const limitParts: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  let parts = 0
  const takes = (more: number, controller: Dispatcher.DispatchController): boolean => {
    parts += more
    if (parts > MOST_PARTS) controller.abort(new RangeError('The answer has too many parts'))
    return parts <= MOST_PARTS
  }
  const counted: Dispatcher.DispatchHandler = {
    onRequestStart: (...start) => handler.onRequestStart?.(...start),
    onResponseStart(controller, ...head) {
      if (takes(PARTS_OF_HEAD, controller)) handler.onResponseStart?.(controller, ...head)
    },
    onResponseData(controller, chunk) {
      if (takes(1, controller)) handler.onResponseData?.(controller, chunk)
    },
    onResponseEnd: (...end) => handler.onResponseEnd?.(...end),
    onResponseError: (...failure) => handler.onResponseError?.(...failure),
  }
  return dispatch(options, counted)
}
