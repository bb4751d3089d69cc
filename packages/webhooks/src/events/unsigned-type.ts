import { isPaymentEventType } from '../event.ts'
import { isEventText } from './read-event.ts'

/**
 * The name of a type that only a header tells which nobody signed. It is good to show and may be mapped by the
 * settings, but it is never by itself one of those that have an effect: whoever caught a delivery could write it.
 */
export function unsignedType(name: string | null | undefined): string {
  return isEventText(name) && !isPaymentEventType(name) ? name : 'unknown'
}
