import { randomUUID } from 'node:crypto'

// Neither the trace nor the span is all zeros.
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

// randomUUID caches random bytes. randomBytes asks the kernel each time: a twelfth of a create's time in the gateway.
const random = (bytes: number) =>
  randomUUID()
    .replaceAll('-', '')
    .slice(0, 2 * bytes)

/** A traceparent header as it came, or undefined when it is not one (W3C Trace Context, version 00). */
export const parseTraceparent = (header: string | string[] | undefined): string | undefined =>
  typeof header === 'string' && TRACEPARENT.test(header) ? header : undefined

/** A traceparent that starts a trace of its own. */
export const newTraceparent = (): string => `00-${random(16)}-${random(8)}-01`

/** The same trace, one span further. */
export const childTraceparent = (traceparent: string): string =>
  `${traceparent.slice(0, 36)}${random(8)}${traceparent.slice(52)}`
