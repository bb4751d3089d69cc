import { defineError } from '@oncehook/kernel/http/errors'

/** The delivery is not authentic. Every reason gets the same answer. */
export const signatureInvalid = defineError('signature_invalid', {
  status: 401,
  retry: 'never',
  message: 'The signature does not match the body',
})
/** The token is valid, but its scopes do not cover the request (RFC 6750 section 3.1). */
export const scopeMissing = defineError('scope_missing', {
  status: 403,
  retry: 'never',
  message: 'The token does not have the scope that this request needs',
})
/** The token is valid, but the sign-in behind it is too weak (RFC 9470). */
export const signInInsufficient = defineError('sign_in_insufficient', {
  status: 401,
  retry: 'never',
  message: 'The sign-in behind the token is too weak: sign in again as the gateway requires',
})
/** The operator is known, but does not have the role that the procedure needs. */
export const roleMissing = defineError('role_missing', {
  status: 403,
  retry: 'never',
  message: 'The token does not have the role that this procedure needs',
})
/** The code of a sign-in is wrong, used or expired. The answer does not say which. */
export const signInCodeInvalid = defineError('sign_in_code_invalid', {
  status: 401,
  retry: 'never',
  message: 'The sign-in code is wrong, used or expired: get a new link with `oncehook sign-in`',
})
/** The issuer did not sign the operator in, because the operator or a rule of the issuer refused. */
export const signInDenied = defineError('sign_in_denied', {
  status: 401,
  retry: 'never',
  message: 'The issuer did not sign you in: the sign-in was cancelled there, or you may not use Oncehook',
})
/** The answer of the issuer is for another window, was changed, was used before, or is too old. */
export const signInAnswerInvalid = defineError('sign_in_answer_invalid', {
  status: 401,
  retry: 'never',
  message: 'The answer of the issuer does not belong to this sign-in, or it is too old: sign in again',
})
/** Nobody can sign in at the issuer before somebody changes the settings of the gateway or of the issuer. */
export const signInMisconfigured = defineError('sign_in_misconfigured', {
  status: 502,
  retry: 'never',
  message: 'The settings of the issuer and of the gateway do not match',
})
/** The issuer cannot be asked now. */
export const signInUnavailable = defineError('sign_in_unavailable', {
  status: 503,
  retry: 'later',
  message: 'The issuer does not answer as it should',
})
/** A session asked for something that needs the token of an operator. */
export const sessionNotEnough = defineError('session_not_enough', {
  status: 403,
  retry: 'never',
  message: 'A session cannot create a sign-in code: use an operator token',
})
/** A browser has several cookies of a session, so nobody knows which one is the operator's. */
export const sessionAmbiguous = defineError('session_ambiguous', {
  status: 409,
  retry: 'never',
  message: 'The browser has several cookies of a session, and not all are from this gateway: sign in again',
})
/** A browser sent the request for a page of another site. */
export const crossSite = defineError('cross_site', {
  status: 403,
  retry: 'never',
  message: 'The request comes from a page of another site',
})
/** The event could not be stored on a majority now. The provider delivers it again. */
export const notStored = defineError('not_stored', {
  status: 500,
  retry: 'later',
  message: 'The event could not be stored now: deliver it again',
})
/** The gateway cannot find out now whether the delivery is authentic. The provider delivers it again. */
export const notChecked = defineError('not_checked', {
  status: 500,
  retry: 'later',
  message: 'The delivery could not be checked now: deliver it again',
})
/** An operator named an event that is being processed at this moment. Nothing was changed. */
export const eventsBusy = defineError('events_busy', {
  status: 409,
  retry: 'later',
  message: 'One of the events is being processed now: try again in a moment',
})
/** An operator can close only dead events. Nothing was changed. */
export const eventNotDead = defineError('event_not_dead', {
  status: 409,
  retry: 'never',
  message: 'The event is not dead: only dead events can be closed',
})
/** An operator can release only an event that a process has claimed. Nothing was changed. */
export const eventNotProcessing = defineError('event_not_processing', {
  status: 409,
  retry: 'never',
  message: 'The event is not being processed: only such events can be released',
})
/** An operator can pause a provider only once. Nothing was changed. */
export const providerPaused = defineError('provider_paused', {
  status: 409,
  retry: 'never',
  message: 'The provider is already paused',
})
/** An operator can resume only a paused provider. Nothing was changed. */
export const providerNotPaused = defineError('provider_not_paused', {
  status: 409,
  retry: 'never',
  message: 'The provider is not paused',
})
/** An operator can pause a handler only once. Nothing was changed. */
export const handlerPaused = defineError('handler_paused', {
  status: 409,
  retry: 'never',
  message: 'The handler is already paused',
})
/** An operator can resume only a paused handler. Nothing was changed. */
export const handlerNotPaused = defineError('handler_not_paused', {
  status: 409,
  retry: 'never',
  message: 'The handler is not paused',
})
/** An operator can discard only the tasks of a handler that was removed. Nothing was changed. */
export const handlerConfigured = defineError('handler_configured', {
  status: 409,
  retry: 'never',
  message: 'The handler is configured: only tasks of a removed handler can be discarded',
})
/** Only the provider can sign a delivery: it keeps the key, or it has to confirm the event. Nothing was changed. */
export const testEventNotSignable = defineError('test_event_not_signable', {
  status: 409,
  retry: 'never',
  message: "The gateway cannot sign for this provider: send a test event from the provider's dashboard",
})
/**
 * The data to erase is still in use: an event is not settled, or a receipt is not sent. Nothing was changed, unless the
 * message says that a part is erased.
 */
export const eraseUnsettled = defineError('erase_unsettled', {
  status: 409,
  retry: 'later',
  message: 'An event or receipt is not settled yet: erase again later',
})
/** Keys can be rotated only if there are some. */
export const encryptionOff = defineError('encryption_off', {
  status: 409,
  retry: 'never',
  message: 'Nothing is encrypted here: ENCRYPTION_KEYS_FILE is not set',
})
/** Fulfilment encrypts with another key than the gateway. A rotation would make neither key obsolete. */
export const encryptionKeyDiffers = defineError('encryption_key_differs', {
  status: 409,
  retry: 'later',
  message: 'Fulfilment does not encrypt with the first key of the gateway: give both the same file of keys',
})
/** An operator's search would read too much. */
export const searchTooWide = defineError('search_too_wide', {
  status: 422,
  retry: 'never',
  message: 'The search takes too long: narrow it, for example by from and to, or by a state other than done',
})
/** Fulfilment could not read any event of a batch: the two releases are incompatible. Every event waits. */
export const contractMismatch = defineError('contract_mismatch', {
  status: 502,
  retry: 'later',
  message: 'Fulfilment cannot read any event: its release is not compatible with the gateway',
})
