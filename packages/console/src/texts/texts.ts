import { duration, exactTime, localTime, number, plural, shortTime, utcTime } from './formats.ts'

/**
 * What several parts of the page say, what to do next, and how numbers and times are written, whatever the browser's
 * language is. Any other text stands where it is shown.
 */
export const texts = {
  number,
  plural,
  time: {
    seconds: duration,
    ago: (seconds: number): string => (seconds < 1 ? 'now' : `${duration(seconds)} ago`),
    local: localTime,
    exact: exactTime,
    short: shortTime,
    utc: utcTime,
  },
  count: (value: number | null): string => (value === null ? 'counting took too long' : number(value)),
  bytes: (count: number): string => plural(count, 'byte', 'bytes'),
  deliveriesOf: (deliveries: number, changed: number): string =>
    changed === 0 ? `${deliveries}` : `${deliveries}, ${changed} changed`,
  loading: 'Loading…',
  none: '–',
  /** The handler of an event that none wants. */
  nobody: 'nobody wants it',
  why: (role: string): string => `Your token does not have the role “${role}”.`,
  /** What to do next about a dead event, as docs/how-to/replay.md says. */
  advice: {
    amount_mismatch:
      'find out which amount is right. Correct the order while it is unpaid, then replay; or refund the payment and close the event.',
    currency_mismatch:
      'find out which currency is right. Correct the order while it is unpaid, then replay; or refund the payment and close the event.',
    amount_missing: 'if the provider sends no amount, set “requireAmount” to false and replay; otherwise close it.',
    order_unknown: 'create the order, or correct “read” in the settings of the provider, then replay.',
    order_deleted: 'refund the payment, or create the order under another id.',
    payment_used_elsewhere: 'look at both orders, or ask the provider. There is nothing to replay.',
    event_mismatch: 'look at both orders, or ask the provider. There is nothing to replay.',
    retries_exhausted: 'make the one that did not answer available, then replay.',
    worker_died: 'read the log before each “event.taken-over”, fix the cause, then replay this event alone.',
    fulfilment_failed: 'read the log of fulfilment, fix the cause, then replay this event alone.',
    internal: 'read the log of fulfilment, fix the cause, then replay this event alone.',
    handler_refused: 'read the log of the handler, correct the cause, then replay.',
    type_unhandled: 'nothing, if its type should have no effect. If it should, map it in “events”, then replay.',
    not_expected: 'find out who sends it. If it is yours, correct “expect” or “testMode”, then replay.',
    effect_not_allowed: 'if the provider may do this, add the type to its “effects”, then replay.',
    not_paid: 'nothing. The event of its payment follows.',
    test: 'nothing. A test never has an effect.',
  },
  problem: {
    next: {
      unauthenticated: 'The token or the session is unknown or has ended. Sign in again.',
      session_ambiguous:
        'A sign-in removes the others that it can. If this comes back, delete the cookies of this host in your browser, and give the page a name that no other server has.',
      headers_too_large: 'Delete the cookies of this host in your browser.',
      sign_in_code_invalid:
        'A link works once, within 10 minutes. Run “oncehook sign-in” to get a new link, or enter a token.',
      sign_in_denied: 'Sign in again. If the issuer refuses again, ask the people who manage it.',
      sign_in_answer_invalid: 'Sign in again, and stay in the same window until you are back.',
      sign_in_insufficient: 'Sign in again with the second factor that the issuer offers.',
      sign_in_misconfigured: 'Ask the people who run the gateway: its log says what does not match.',
      sign_in_unavailable: 'Try again later, or sign in with a token of OPERATOR_TOKENS.',
      role_missing: 'Ask for a token that has this role.',
      search_too_wide: 'Add a filter or choose a shorter time.',
      unavailable: 'The database or fulfilment does not answer. The page tries again automatically.',
      overloaded: 'Wait a moment, then try again.',
      rate_limited: 'Wait a minute, then try again.',
      not_found: 'Check the address, or search in the list.',
      invalid_request: 'Correct the input.',
      precondition_failed: 'Somebody else has changed the order. Look at it again, then correct it.',
      order_paid: 'A paid order is not corrected. Refund the payment at its provider, then close the event.',
      events_busy: 'Wait until the event is settled, or release it.',
      event_not_dead: 'Its state has changed. Check its current state.',
      test_event_not_signable: 'Only the provider can sign: send a test event from its dashboard.',
      provider_paused: 'Somebody else has paused it. Check the provider.',
      provider_not_paused: 'Somebody else has resumed it. Check the provider.',
      handler_paused: 'Somebody else has paused it. Check the handler.',
      handler_not_paused: 'Somebody else has resumed it. Check the handler.',
      handler_configured: 'Remove it from the setting of every gateway first.',
      event_not_processing: 'Its state has changed. Check its current state.',
      storage_blocked: 'Allow this site to store data and cookies in your browser.',
      unreachable: 'Check that it runs and that this machine can reach it. The page tries again automatically.',
      other: 'Search the log of the gateway for this request.',
    },
  },
}
