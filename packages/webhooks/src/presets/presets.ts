import { MERCHANT_OF_RECORD_PRESETS } from './merchants-of-record.ts'
import { PAYMENT_PRESETS } from './payments.ts'
import type { Preset } from './preset.ts'
import { SERVICE_PRESETS } from './services.ts'

/** Every provider that is only data. */
export const PRESETS: readonly Preset[] = [...PAYMENT_PRESETS, ...MERCHANT_OF_RECORD_PRESETS, ...SERVICE_PRESETS]
