import { type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino'
import { traceIds } from '../tracing/tracing'

export type { Logger }

// The other fields of an error repeat what it is about: PostgreSQL's `detail` the row, a mail server's `response` the address.
const FIELDS = ['type', 'message', 'stack', 'code', 'syscall', 'table', 'column', 'constraint'] as const

// PostgreSQL ends such a message with the value: invalid input syntax for type integer: "...".
const withoutValue = (text: unknown) =>
  typeof text === 'string' ? text.replace(/: "[^\n]*"$/gm, ': "…"') : text

/** What a log shows of an error: with its causes, without the data it is about. */
const describeError = (error: unknown): unknown => {
  if (!(error instanceof Error)) return error
  const whole = stdSerializers.err(error) as unknown as Record<string, unknown>
  return Object.fromEntries(FIELDS.map((name) => [name, withoutValue(whole[name])]))
}

/** JSON lines on standard output. Tokens and secrets are cut out wherever they are logged by these names, data out of errors. */
export const createLogger = (options: { service: string; level: string }): Logger =>
  pino({
    level: options.level,
    base: { service: options.service, pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: describeError },
    mixin: traceIds,
    redact: ['token', 'secret', '*.token', '*.secret', 'headers', '*.headers'],
  })
