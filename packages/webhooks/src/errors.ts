import { defineError } from '@oncehook/kernel/http/errors'

/** It is authentic JSON; [whose deliveries get this](providers.md#what-cannot-be-read). */
export const eventInvalid = defineError(
  'event_invalid',
  400,
  'The body is not an event: id, type and data.object.id must be text of 1 to 255 bytes, or whole numbers as ids',
)
/** See the [limits](http.md#limits). */
export const overloaded = defineError(
  'overloaded',
  429,
  'Too many requests are in progress: send it again in a moment',
  'later',
)
