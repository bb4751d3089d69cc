/**
 * How Node runs the services. Node 24 lets the young generation grow to several times of what deliveries in flight need;
 * a smaller one costs no throughput that shows and keeps a gateway under load near 200 MiB.
 */
export const SERVICE_FLAGS = ['--max-semi-space-size=8'] as const
