const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|localhost|\[::1\])$/i

/** Whether the host of a URL is this machine. */
export function isLoopback({ hostname }: URL): boolean {
  return LOOPBACK.test(hostname)
}
