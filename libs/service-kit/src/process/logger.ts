import { type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino'
import { traceIds } from '../tracing/tracing'

export type { Logger }

// The fields of an error that are logged. Other fields may contain data: PostgreSQL's `detail` contains a
// row, and a mail server's `response` contains an e-mail address.
const FIELDS = ['type', 'message', 'stack', 'code', 'syscall', 'table', 'column', 'constraint'] as const

// Removes the value with which PostgreSQL ends some messages: invalid input syntax for type integer: "...".
const withoutValue = (text: unknown) =>
  typeof text === 'string' ? text.replace(/: "[^\n]*"$/gm, ': "…"') : text

const describeError = (error: unknown): unknown => {
  if (!(error instanceof Error)) return error
  const whole = stdSerializers.err(error) as unknown as Record<string, unknown>
  return Object.fromEntries(FIELDS.map((name) => [name, withoutValue(whole[name])]))
}

/**
 * Makes a logger that writes JSON lines to standard output. The logger omits fields with the names `token`,
 * `secret` and `headers`, and the data in errors.
 */
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
