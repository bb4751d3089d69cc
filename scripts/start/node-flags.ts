/**
 * How Node runs the services. Node 24 lets the young generation grow to several times of what deliveries in flight need;
 * a smaller one costs no throughput that shows and keeps a gateway under load near 200 MiB. And V8 takes what lives for
 * one write to the database for long-lived: allocated among the old, every delivery would stay until a full collection,
 * which in two processes of three took a quarter of the processor time.
 */
export const SERVICE_FLAGS = ['--max-semi-space-size=8', '--no-allocation-site-pretenuring'] as const
