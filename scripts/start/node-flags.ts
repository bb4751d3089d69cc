/**
 * How Node runs the services. Under load, Node 24 lets the young generation grow to 128 MiB, several times the size that
 * deliveries in progress need. Two semi-spaces of 8 MiB give the same throughput.
 */
export const SERVICE_FLAGS = ['--max-semi-space-size=8'] as const
