import { isPaymentEventType } from '../event.ts'
import { isEventText } from './event-text.ts'

/**
 * The name of a type from a header that is not signed. It may be shown, and the settings may map it. It never has an effect
 * unless they do: anyone who captured a delivery could change it.
 */
export function unsignedType(name: string | null | undefined): string {
  return isEventText(name) && !isPaymentEventType(name) ? name : 'unknown'
}
