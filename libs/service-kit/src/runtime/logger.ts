import { destination, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino'
import { traceIds } from './tracing'

export type { Logger }

// What one turn writes beyond it goes at once.
const GATHERED_CHARACTERS = 8192

/**
 * Standard output, to which the lines of one turn of the event loop go with one write: each woke the reader. They are
 * gathered here, because flushing what the destination gathers is an fsync each time.
 */
const openOutput = () => {
  const output = destination({ dest: 1, sync: true })
  let lines = ''
  const flushSync = () => {
    if (lines === '') return
    output.write(lines)
    lines = ''
  }
  process.on('exit', flushSync)
  return {
    write: (line: string): void => {
      if (lines === '') setImmediate(flushSync)
      lines += line
      if (lines.length > GATHERED_CHARACTERS) flushSync()
    },
    /** pino calls it after a fatal line. */
    flushSync,
  }
}

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

let output: ReturnType<typeof openOutput> | undefined

/** JSON lines on standard output. Tokens and secrets are cut out wherever they are logged by these names, data out of errors. */
export const createLogger = (options: { service: string; level: string }): Logger => {
  output ??= openOutput()
  return pino(
    {
      level: options.level,
      base: { service: options.service, pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
      mixin: traceIds,
      redact: [
        'token',
        'secret',
        '*.token',
        '*.secret',
        // @fastify/multipart traces all headers of a request.
        'headers',
        '*.headers',
      ],
    },
    output,
  )
}
