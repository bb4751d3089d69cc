import { defineError } from '@oncehook/kernel/http/errors'

/** The delivery is not authentic. Every reason gets the same answer. */
export const signatureInvalid = defineError('signature_invalid', 401, 'The signature does not match the body')
/** RFC 6750 section 3.1. */
export const scopeMissing = defineError(
  'scope_missing',
  403,
  'The token does not have the scope that this request needs',
)
/** RFC 9470. */
export const signInInsufficient = defineError(
  'sign_in_insufficient',
  401,
  'The sign-in behind the token is too weak: sign in again as the gateway requires',
)
export const roleMissing = defineError(
  'role_missing',
  403,
  'The token does not have the role that this procedure needs',
)
export const signInCodeInvalid = defineError(
  'sign_in_code_invalid',
  401,
  'The sign-in code is wrong, used or expired: get a new link with `oncehook sign-in`',
)
export const signInDenied = defineError(
  'sign_in_denied',
  401,
  'The issuer did not sign you in: the sign-in was cancelled there, or you may not use Oncehook',
)
/** The answer of the issuer is for another window, was changed, was used before, or is too old. */
export const signInAnswerInvalid = defineError(
  'sign_in_answer_invalid',
  401,
  'The answer of the issuer does not belong to this sign-in, or it is too old: sign in again',
)
export const signInMisconfigured = defineError(
  'sign_in_misconfigured',
  502,
  'The settings of the issuer and of the gateway do not match',
)
export const signInUnavailable = defineError(
  'sign_in_unavailable',
  503,
  'The issuer does not answer as it should',
  'later',
)
export const sessionNotEnough = defineError(
  'session_not_enough',
  403,
  'A session cannot create a sign-in code: use an operator token',
)
/** A browser has several cookies of a session, so nobody knows which one is the operator's. */
export const sessionAmbiguous = defineError(
  'session_ambiguous',
  409,
  'The browser has several cookies of a session, and not all are from this gateway: sign in again',
)
export const crossSite = defineError('cross_site', 403, 'The request comes from a page of another site')
/** The event could not be stored on a majority now. The provider delivers it again. */
export const notStored = defineError('not_stored', 500, 'The event could not be stored now: deliver it again', 'later')
export const notChecked = defineError(
  'not_checked',
  500,
  'The delivery could not be checked now: deliver it again',
  'later',
)

// An operator asked for what is not possible in this state. Nothing was changed.

export const eventsBusy = defineError(
  'events_busy',
  409,
  'One of the events is being processed now: try again in a moment',
  'later',
)
export const eventNotDead = defineError('event_not_dead', 409, 'The event is not dead: only dead events can be closed')
export const eventNotProcessing = defineError(
  'event_not_processing',
  409,
  'The event is not being processed: only such events can be released',
)
export const providerPaused = defineError('provider_paused', 409, 'The provider is already paused')
export const providerNotPaused = defineError('provider_not_paused', 409, 'The provider is not paused')
export const handlerPaused = defineError('handler_paused', 409, 'The handler is already paused')
export const handlerNotPaused = defineError('handler_not_paused', 409, 'The handler is not paused')
export const handlerConfigured = defineError(
  'handler_configured',
  409,
  'The handler is configured: only tasks of a removed handler can be discarded',
)
/** Only the provider can sign a delivery: it keeps the key, or it has to confirm the event. */
export const testEventNotSignable = defineError(
  'test_event_not_signable',
  409,
  "The gateway cannot sign for this provider: send a test event from the provider's dashboard",
)
/**
 * The data to erase is still in use: an event is not settled, or a receipt is not sent. Nothing was changed, unless the
 * message says that a part is erased.
 */
export const eraseUnsettled = defineError(
  'erase_unsettled',
  409,
  'An event or receipt is not settled yet: erase again later',
  'later',
)
export const encryptionOff = defineError(
  'encryption_off',
  409,
  'Nothing is encrypted here: ENCRYPTION_KEYS_FILE is not set',
)
/** Fulfilment encrypts with another key than the gateway. A rotation would make neither key obsolete. */
export const encryptionKeyDiffers = defineError(
  'encryption_key_differs',
  409,
  'Fulfilment does not encrypt with the first key of the gateway: give both the same file of keys',
  'later',
)
export const searchTooWide = defineError(
  'search_too_wide',
  422,
  'The search takes too long: narrow it, for example by from and to, or by a state other than done',
)
/** Fulfilment could not read any event of a batch: the two releases are incompatible. Every event waits. */
export const contractMismatch = defineError(
  'contract_mismatch',
  502,
  'Fulfilment cannot read any event: its release is not compatible with the gateway',
  'later',
)
