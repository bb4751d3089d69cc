import { isLoopback } from '@oncehook/kernel/http/client'
import { SettingsError } from '@oncehook/kernel/settings/settings'

/** The settings that decide whether test events can have effects. */
interface TestEventSettings {
  readonly TEST_EVENTS: 'store' | 'apply'
  readonly GATEWAY_HOST: string
  readonly ADMIN_HOST: string
}

/**
 * Refuses test events with effects anywhere but in a development system: they are a way to pay an order without paying.
 * @throws SettingsError
 */
export function checkTestEvents(settings: TestEventSettings, env: NodeJS.ProcessEnv): void {
  if (settings.TEST_EVENTS !== 'apply') return
  const isOpen = ![settings.GATEWAY_HOST, settings.ADMIN_HOST].every(isOfThisMachine)
  const problems = [
    ...(isOpen ? ['TEST_EVENTS can be apply only if GATEWAY_HOST and ADMIN_HOST are loopback addresses'] : []),
    ...(env.NODE_ENV === 'production' ? ['TEST_EVENTS cannot be apply if NODE_ENV is production'] : []),
  ]
  if (problems.length > 0) throw new SettingsError(problems)
}

function isOfThisMachine(host: string): boolean {
  const url = URL.parse(`http://${host.includes(':') ? `[${host}]` : host}`)
  return url !== null && isLoopback(url)
}
