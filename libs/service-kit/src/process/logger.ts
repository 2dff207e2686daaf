import { type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino'
import { traceIds } from '../tracing/tracing'

export type { Logger }

// Other fields of an error hold data: PostgreSQL's `detail` a row, a mail server's `response` an address.
const FIELDS = ['type', 'message', 'stack', 'code', 'syscall', 'table', 'column', 'constraint'] as const

// PostgreSQL ends a message with the value: invalid input syntax for type integer: "...".
const withoutValue = (text: unknown) =>
  typeof text === 'string' ? text.replace(/: "[^\n]*"$/gm, ': "…"') : text

const describeError = (error: unknown): unknown => {
  if (!(error instanceof Error)) return error
  const whole = stdSerializers.err(error) as unknown as Record<string, unknown>
  return Object.fromEntries(FIELDS.map((name) => [name, withoutValue(whole[name])]))
}

/** JSON lines on standard output, without tokens and secrets by these names, and without the data in errors. */
export const createLogger = ({ service, level }: { service: string; level: string }): Logger =>
  pino({
    level,
    base: { service, pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: describeError },
    mixin: traceIds,
    redact: ['token', 'secret', '*.token', '*.secret', 'headers', '*.headers'],
  })
