import { defineError } from '@oncehook/kernel/http/errors'

/** The body is authentic and JSON, but is not an event. */
export const eventInvalid = defineError(
  'event_invalid',
  400,
  'The body is not an event: id, type and data.object.id must be text of 1 to 255 bytes, or whole numbers as ids',
)
/** Too many bodies or questions are in progress. The sender should try again. */
export const overloaded = defineError(
  'overloaded',
  429,
  'Too many requests are in progress: send it again in a moment',
  'later',
)
