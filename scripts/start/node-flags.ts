import { HEAP_FLAGS } from '@oncehook/kernel/restart-with-heap-flags'

/** How Node runs the services. Without these flags a service starts Node a second time, which takes longer. */
export const SERVICE_FLAGS = HEAP_FLAGS
