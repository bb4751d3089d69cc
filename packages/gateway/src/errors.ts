import { defineError } from '@oncehook/kernel/http/errors'

/** Every reason gets the same answer: [find out why](../how-to/refused-delivery.md). */
export const signatureInvalid = defineError('signature_invalid', 401, 'The signature does not match the body')
/** `WWW-Authenticate` names it (RFC 6750 section 3.1). */
export const scopeMissing = defineError(
  'scope_missing',
  403,
  'The token does not have the scope that this request needs',
)
/** The message names the claim that [a setting](settings.md#operators-from-an-issuer) requires (RFC 9470). */
export const signInInsufficient = defineError(
  'sign_in_insufficient',
  401,
  'The sign-in behind the token is too weak: sign in again as the gateway requires',
)
/** Ask somebody whose token has [the role](operators.md#roles). */
export const roleMissing = defineError(
  'role_missing',
  403,
  'The token does not have the role that this procedure needs',
)
/** A code works once, within 10 minutes. */
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
/** Use one window. */
export const signInAnswerInvalid = defineError(
  'sign_in_answer_invalid',
  401,
  'The answer of the issuer does not belong to this sign-in, or it is too old: sign in again',
)
/** The message names the claim: [settings](settings.md#sign-in-at-the-issuer). */
export const signInMisconfigured = defineError(
  'sign_in_misconfigured',
  502,
  'The settings of the issuer and of the gateway do not match',
)
/** Use a token of `OPERATOR_TOKENS`. */
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
/** Another server of this host set one: delete the cookies of the host, or [use https](console.md#security). */
export const sessionAmbiguous = defineError(
  'session_ambiguous',
  409,
  'The browser has several cookies of a session, and not all are from this gateway: sign in again',
)
/** Open the link directly. A proxy must pass on `Host`. Programs call with a token. */
export const crossSite = defineError('cross_site', 403, 'The request comes from a page of another site')
/** No majority of the database has it. The provider delivers again by itself. */
export const notStored = defineError('not_stored', 500, 'The event could not be stored now: deliver it again', 'later')
/**
 * A certificate or key could not be downloaded, or the API of the provider did not answer. The provider delivers again
 * by itself.
 */
export const notChecked = defineError(
  'not_checked',
  500,
  'The delivery could not be checked now: deliver it again',
  'later',
)

// An operator asked for what is not possible in this state. Nothing was changed.

/** Nothing was changed. */
export const eventsBusy = defineError(
  'events_busy',
  409,
  'One of the events is being processed now: try again in a moment',
  'later',
)
/** `events show` has the state. */
export const eventNotDead = defineError('event_not_dead', 409, 'The event is not dead: only dead events can be closed')
/** `events show` has the state. */
export const eventNotProcessing = defineError(
  'event_not_processing',
  409,
  'The event is not being processed: only such events can be released',
)
/** `providers list` shows by whom and why. */
export const providerPaused = defineError('provider_paused', 409, 'The provider is already paused')
export const providerNotPaused = defineError('provider_not_paused', 409, 'The provider is not paused')
/** `handlers list` shows by whom and why. */
export const handlerPaused = defineError('handler_paused', 409, 'The handler is already paused')
export const handlerNotPaused = defineError('handler_not_paused', 409, 'The handler is not paused')
/** Remove it from the setting of every gateway first. */
export const handlerConfigured = defineError(
  'handler_configured',
  409,
  'The handler is configured: only tasks of a removed handler can be discarded',
)
/** Only the provider has the key or can confirm the event, or no secret is valid now. */
export const testEventNotSignable = defineError(
  'test_event_not_signable',
  409,
  "The gateway cannot sign for this provider: send a test event from the provider's dashboard",
)
/** Nothing was changed, unless the message says that a part is erased. */
export const eraseUnsettled = defineError(
  'erase_unsettled',
  409,
  'An event or receipt is not settled yet: erase again later',
  'later',
)
/** Set it: [encryption keys](settings.md#encryption-keys). */
export const encryptionOff = defineError(
  'encryption_off',
  409,
  'Nothing is encrypted here: ENCRYPTION_KEYS_FILE is not set',
)
/** How to [rotate](../how-to/rotate-a-secret.md#encryption-keys). */
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
/** Upgrade fulfilment. Every event waits; nothing is lost. */
export const contractMismatch = defineError(
  'contract_mismatch',
  502,
  'Fulfilment cannot read any event: its release is not compatible with the gateway',
  'later',
)
