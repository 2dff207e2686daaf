import type { EventEmitter } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { type Logger, pino, stdSerializers, stdTimeFunctions, symbols } from 'pino'
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

type Destination = EventEmitter & { write(text: string): unknown }

const WRITE_LIMIT_MS = 1000

/**
 * Resolves when the logger has written all its lines, or can't write them because the reader of the log is
 * gone. If the reader was already gone before the call, resolves after a second.
 */
export const whenWritten = async (logger: Logger): Promise<void> => {
  const destination = (logger as unknown as Record<symbol, Destination>)[symbols.streamSym]!
  const written = new Promise<unknown>((resolve) => {
    destination.once('drain', resolve).once('error', resolve)
  })
  // Causes the event `drain`, even if there is no other line to write.
  destination.write('')
  await Promise.race([written, pause(WRITE_LIMIT_MS)])
}
