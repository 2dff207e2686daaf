import { destination, type Logger, pino, stdTimeFunctions } from 'pino'

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

let output: ReturnType<typeof openOutput> | undefined

/** JSON lines on standard output. Tokens and secrets are cut out wherever they are logged by these names. */
export const createLogger = (options: { service: string; level: string }): Logger => {
  output ??= openOutput()
  return pino(
    {
      level: options.level,
      base: { service: options.service, pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: [
        'token',
        'secret',
        '*.token',
        '*.secret',
        'req.headers.authorization',
        'headers.authorization',
      ],
    },
    output,
  )
}
